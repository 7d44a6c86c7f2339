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
#include "base/fenv.h"

enum { FORMS_SIZE = 16384 };

/* ---- lines of a record ------------------------------------------------------------------- */

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
    bool good = ot_lines_get(lines, OT_LAYOUTS, text, FORMS_SIZE) &&
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
    told->plain = number_of(lines, OT_LAYOUTS_PLAIN);
    told->blocked = number_of(lines, OT_LAYOUTS_BLOCKED);
    told->transforms_s = number_of(lines, OT_LAYOUTS_TRANSFORMS_S);
    told->transforms =
        (int)fmin(number_of(lines, OT_LAYOUTS_TRANSFORMS), plain->graph->n * 4.0);
    told->kept = told->block && told->blocked > 0 && told->blocked <= told->plain;
    return good && told->block;
}

bool ot_layouts_recall(optune_partition *plain, ot_blocks *form, ot_layouts *told)
{
    char *lines = ot_anchor_lines(plain, OT_LAYOUTS);
    *told = (ot_layouts){0};
    const bool known = lines && read_lines(plain, lines, form, told);
    free(lines);
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
            ot_answer_call_at(p->o, p->groups.group[i].call, p->asked, &answer, NULL) >= 0 &&
            ot_choice_measured(&answer->choice);
        ot_answer_drop(answer);
    }
    return measured;
}

/* Instead of a graph as it is the one in blocks, where that was found to be no slower. */
static void use_blocks(optune_partition **partition)
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

int optune_partition_open(optune *o, optune_graph *graph, optune_partition **partition,
                          optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"graph", graph}, {"partition", partition});
    *partition = NULL;
    const int status = ot_partition_open_plain(o, graph, partition, err);
    if (status >= 0)
        use_blocks(partition);
    return status;
}
