/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a graph is computed in blocks of channels: what a run found, read back.
 *
 * The one idea: no file of its own. The graph in blocks is a graph, with records under its own
 * name; which one it is, and how it did against the graph as it is, stands in lines beside the
 * counters of one record: that of the first group that runs, measured in the graph as it is. The
 * newest such record counts, and only while it is current: a kernel that changed is measured anew
 * before blocks are used again.
 */
#include <math.h>
#include <string.h>

#include "answer/graph.h"

#define FORMS "layouts"
#define PLAIN_S "layouts_plain"
#define BLOCKED_S "layouts_blocked"
#define TRANSFORMS "layouts_transforms"
#define TRANSFORMS_S "layouts_transforms_s"

enum { FORMS_SIZE = 16384 };

int ot_layouts_anchor(const optune_partition *plain)
{
    for (int i = 0; i < plain->groups.n && *plain->in_graph; i++)
        if (plain->places.idle[i] == OT_RUNS && ot_call_static(&plain->groups.group[i].call))
            return i;
    return -1;
}

void ot_layouts_count(const optune_partition *plain, const ot_blocks *form, ot_layouts *told)
{
    told->groups = told->in_blocks = 0;
    for (int i = 0; i < plain->groups.n; i++) {
        if (plain->places.idle[i] != OT_RUNS)
            continue;
        const int own = form[i].out ? form[i].out : form[i].in;
        told->groups++;
        told->in_blocks += own > 0;
        told->block = own ? own : told->block;
    }
}

/* ---- lines of a record ------------------------------------------------------------------- */

void ot_layouts_lines(const ot_layouts *told, const ot_blocks *form, int n, ot_text *to)
{
    char number[32];
    ot_text_add(to, FORMS "=");
    ot_forms_print(form, n, to);
    ot_format(number, sizeof number, "%.6g", told->plain);
    ot_text_printf(to, "\n" PLAIN_S "=%s\n", number);
    ot_format(number, sizeof number, "%.6g", told->blocked);
    ot_text_printf(to, BLOCKED_S "=%s\n", number);
    ot_format(number, sizeof number, "%.6g", told->transforms_s);
    ot_text_printf(to, TRANSFORMS_S "=%s\n" TRANSFORMS "=%d\n", number, told->transforms);
}

static double number_of(const char *lines, const char *name)
{
    char text[64];
    double value;
    return ot_lines_get(lines, name, text, sizeof text) && ot_parse_real(text, &value) &&
                   value >= 0
               ? value
               : 0;
}

/* What somebody wrote there is the forms of these groups, or nothing is known. */
static bool read_lines(const optune_partition *plain, const char *lines, ot_blocks *form,
                       ot_layouts *told)
{
    char *text = ot_alloc(FORMS_SIZE);
    bool good = ot_lines_get(lines, FORMS, text, FORMS_SIZE) &&
                ot_forms_parse(text, form, plain->groups.n);
    free(text);
    *told = (ot_layouts){0};
    for (int i = 0; i < plain->groups.n && good; i++)
        good = ot_group_takes(plain->graph, &plain->groups.group[i], form[i]);
    if (!good)
        return false;
    ot_layouts_count(plain, form, told);
    for (int i = 0; i < plain->groups.n; i++)
        good = good && (!form[i].in || form[i].in == told->block) &&
               (!form[i].out || form[i].out == told->block);
    told->plain = number_of(lines, PLAIN_S);
    told->blocked = number_of(lines, BLOCKED_S);
    told->transforms_s = number_of(lines, TRANSFORMS_S);
    told->transforms = (int)fmin(number_of(lines, TRANSFORMS), plain->graph->n * 4.0);
    told->kept = told->block && told->blocked > 0 && told->blocked <= told->plain;
    return good && told->block;
}

bool ot_layouts_recall(optune_partition *plain, ot_blocks *form, ot_layouts *told)
{
    const int anchor = ot_layouts_anchor(plain);
    *told = (ot_layouts){0};
    if (anchor < 0)
        return false;
    optune *o = plain->o;
    const optune_task task = {&plain->groups.group[anchor].call, &o->target, &o->device};
    ot_arena arena = {0};
    ot_fact *fact = NULL;
    char *text = ot_alloc(FORMS_SIZE);
    int n = 0, newest = -1;
    if (ot_context_facts_at(o, &task, plain->in_graph, &arena, &fact, &n, NULL) < 0)
        n = 0;
    for (int i = 0; i < n; i++)
        if (fact[i].record.counters &&
            ot_lines_get(fact[i].record.counters, FORMS, text, FORMS_SIZE) &&
            (newest < 0 || fact[i].record.time > fact[newest].record.time))
            newest = i;
    const bool known = newest >= 0 && fact[newest].currency != OT_STALE &&
                       read_lines(plain, fact[newest].record.counters, form, told);
    free(text);
    ot_arena_release(&arena);
    return known;
}

/* ---- use --------------------------------------------------------------------------------- */

bool ot_partition_measured(optune_partition *p)
{
    bool measured = true;
    for (int i = 0; i < p->groups.n && measured; i++) {
        const ot_answer *answer = NULL;
        if (p->places.idle[i] != OT_RUNS)
            continue;
        measured =
            ot_answer_call_at(p->o, &p->groups.group[i].call, p->asked, &answer, NULL) >= 0 &&
            answer->choice.tier != OT_TIER_PLEVEL;
        ot_answer_drop(answer);
    }
    return measured;
}

void ot_layouts_use(optune_partition **partition)
{
    optune_partition *plain = *partition, *blocked = NULL;
    ot_blocks *form = ot_alloc((size_t)(plain->groups.n + 1) * sizeof *form);
    ot_layouts told;
    if (ot_layouts_recall(plain, form, &told)) {
        if (told.kept && (ot_partition_open_relaid(plain, form, &blocked, NULL) < 0 ||
                          !ot_partition_measured(blocked))) {
            optune_partition_close(blocked);
            blocked = NULL;
            told.kept = false;
        }
        plain->layouts = told;
    }
    free(form);
    if (!blocked)
        return;
    blocked->layouts = told;
    optune_partition_close(plain);
    *partition = blocked;
}

/* ---- what people and programs see -------------------------------------------------------- */

void ot_layouts_say(const ot_layouts *told, ot_text *to)
{
    if (!told->block)
        return;
    char all[32], saved[32], own[32];
    ot_format(all, sizeof all, "%.3g", told->plain * 1e3);
    ot_format(saved, sizeof saved, "%.3g", fabs(told->plain - told->blocked) * 1e3);
    ot_format(own, sizeof own, "%.2g", told->transforms_s * 1e3);
    ot_text_printf(to, "layouts: %d of %d groups in NCHW%dc, %d transform%s", told->in_blocks,
                   told->groups, told->block, told->transforms,
                   told->transforms == 1 ? "" : "s");
    if (told->transforms)
        ot_text_printf(to, " (%s ms)", own);
    if (told->kept)
        ot_text_printf(to, ", saves %s of %s ms\n", saved, all);
    else if (told->blocked > told->plain)
        ot_text_printf(to, ", is %s ms slower than plain (%s ms): not used\n", saved, all);
    else
        ot_text_add(to, ": a kernel has changed since, not used\n");
}

json_t *ot_layouts_json(const ot_layouts *told)
{
    if (!told->block)
        return json_null();
    char name[32];
    snprintf(name, sizeof name, "NCHW%dc", told->block);
    return json_pack("{s:s, s:b, s:i, s:i, s:i, s:f, s:f, s:f}", "layout", name, "kept",
                     (int)told->kept, "groups", told->groups, "in_blocks", told->in_blocks,
                     "transforms", told->transforms, "transforms_s", told->transforms_s,
                     "plain", told->plain, "blocked", told->blocked);
}
