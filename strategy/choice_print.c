/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A choice in words: for people within 96 columns, as JSON (docs/formats.md has the schema),
 * and as TVM's log sentences. It explains and never decides: everything said here is in the
 * choice.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"
#include "strategy/inside.h"

enum { WIDTH = 96 };

static const char *const tier_text[] = {
    [OT_TIER_TUNED] = "tuned",
    [OT_TIER_UNVERIFIED] = "unverified",
    [OT_TIER_HINTED] = "hinted",
    [OT_TIER_PLEVEL] = "plevel",
};

const char *ot_tier_name(ot_tier tier)
{
    return tier_text[tier];
}

static const char *const refusal_text[] = {
    [OT_VALID] = "valid",
    [OT_REFUSED_WHEN] = "specialization",
    [OT_REFUSED_CONDITION] = "condition",
    [OT_REFUSED_APPLIES] = "applies",
    [OT_REFUSED_FUSED] = "fused",
    [OT_REFUSED_MATH] = "math",
    [OT_REFUSED_LIBRARY] = "library",
};

/* A copy of it with all rows asked: the caller frees its rows. */
static ot_choice asked(const optune_task *task, const ot_choice *choice)
{
    ot_choice all = *choice;
    all.row = ot_alloc((size_t)(choice->n + 1) * sizeof *all.row);
    for (int i = 0; i < choice->n; i++) {
        all.row[i] = choice->row[i];
        all.row[i].candidate.refusal = ot_choice_refusal(task, &all, i);
    }
    all.default_row = ot_choice_default(task, &all);
    return all;
}

/* ---- the runner-up ----------------------------------------------------------------------- */

/* The fastest valid other one with a usable record, or -1. */
static int runner_up(const ot_choice *choice)
{
    int best = -1;
    for (int i = 0; i < choice->n; i++) {
        const ot_choice_row *row = &choice->row[i];
        if (row->winner || !row->fact || row->candidate.refusal != OT_VALID)
            continue;
        if (best < 0 || row->fact->record.cost < choice->row[best].fact->record.cost)
            best = i;
    }
    return choice->row[choice->winner].fact ? best : -1;
}

static double margin(const ot_choice *choice, int other)
{
    return choice->row[other].fact->record.cost /
               choice->row[choice->winner].fact->record.cost -
           1;
}

/* ---- for people -------------------------------------------------------------------------- */

/* Of an operator whose cost is no time the number itself. */
static const char *time_text(const ot_choice_row *row, double seconds, char text[32])
{
    static const struct {
        double unit;
        const char *name;
    } unit[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    const optune_op *op = ot_op_find(row->candidate.impl->op);
    int i = 0;
    if (op && op->unitless) {
        ot_format(text, 32, "%.6g", seconds);
        return text;
    }
    while (i < OT_COUNT(unit) - 1 && seconds < unit[i].unit)
        i++;
    const double value = seconds / unit[i].unit;
    ot_format(text, 32,
              value < 10    ? "%.3f %s"
              : value < 100 ? "%.2f %s"
                            : "%.1f %s",
              value, unit[i].name);
    return text;
}

/* Breaks at spaces (and within a word only when it fills a line); every line starts with the
 * indent. */
static void wrap(ot_text *to, int indent, const char *text)
{
    const size_t room = (size_t)(WIDTH - indent);
    while (*text) {
        size_t n = strlen(text);
        if (n > room) {
            n = room;
            while (n > 0 && text[n] != ' ')
                n--;
            n = n ? n : room;
        }
        ot_text_printf(to, "%*s%.*s\n", indent, "", (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
}

static void wrap_printf(ot_text *to, int indent, const char *format, ...) OPTUNE_PRINTF(3, 4);
static void wrap_printf(ot_text *to, int indent, const char *format, ...)
{
    char text[4 * OPTUNE_TEXT_SIZE];
    va_list list;
    va_start(list, format);
    ot_format_list(text, sizeof text, format, list);
    va_end(list);
    wrap(to, indent, text);
}

static const char *source_of(const optune_record *r)
{
    return r->source ? r->source : "an unnamed source";
}

static void print_config(const ot_choice *choice, ot_text *to)
{
    ot_text text = {0};
    ot_config_print_short(choice->config, &text);
    if (text.n)
        wrap_printf(to, 4, "config %s", ot_text_str(&text));
    ot_text_release(&text);
}

/* The choice in a line or two. */
static void print_winner(const ot_choice *choice, ot_text *to)
{
    const ot_choice_row *row = &choice->row[choice->winner];
    char time[32], low[32], high[32], age[32];
    if (choice->tier == OT_TIER_HINTED) {
        wrap_printf(to, 2, "%s  hinted by %s: nothing usable was measured here",
                    row->candidate.impl->name, source_of(&row->hint->record));
    } else if (choice->tier == OT_TIER_PLEVEL) {
        wrap_printf(to, 2, "%s  by plevel %d, with its fallback config: no usable record",
                    row->candidate.impl->name, row->candidate.plevel);
    } else {
        const optune_record *r = &row->fact->record;
        wrap_printf(to, 2, "%s  %s  [%s .. %s]  %s, %s", row->candidate.impl->name,
                    time_text(row, r->cost, time),
                    time_text(row, r->low > 0 ? r->low : r->cost, low),
                    time_text(row, r->high > 0 ? r->high : r->cost, high),
                    tier_text[choice->tier], ot_age_text(r->time, age));
    }
    print_config(choice, to);
}

static void print_detail(const optune_task *task, const ot_choice *choice, int i, ot_text *to)
{
    const ot_choice_row *row = &choice->row[i];
    char time[32], age[32], why[OPTUNE_WHY_SIZE];
    const ot_fact *fact = row->fact;
    ot_choice_why(task, choice, i, why);
    if (row->candidate.refusal != OT_VALID)
        wrap_printf(to, 6, "refused (%s): %s", refusal_text[row->candidate.refusal], why);
    if (fact)
        wrap_printf(to, 6, "%d samples, %s, from %s%s", fact->record.n_samples,
                    ot_age_text(fact->record.time, age), source_of(&fact->record),
                    fact->record.final ? ", measured among the finalists" : "");
    if (fact && fact->currency == OT_UNVERIFIABLE)
        wrap_printf(to, 6, "unverified: %s", fact->why);
    if (row->stale) {
        const optune_record *r = &row->stale->record;
        wrap_printf(to, 6, "stale: %s, %d samples, %s, from %s", time_text(row, r->cost, time),
                    r->n_samples, ot_age_text(r->time, age), source_of(r));
        wrap(to, 8, ot_choice_stale_why(row, why));
    }
    if (row->hint) {
        const optune_record *r = &row->hint->record;
        if (r->cost > 0)
            wrap_printf(to, 6, "hint: %s on %s, from %s", time_text(row, r->cost, time),
                        r->device ? r->device : "an unnamed device", source_of(r));
        else
            wrap_printf(to, 6, "hint: from %s", source_of(r));
        wrap(to, 8, row->hint_why);
    }
    if (row->fallback_why[0])
        wrap_printf(to, 6, "its fallback config is refused: %s", row->fallback_why);
    if (!fact && row->failed)
        wrap_printf(to, 6, "%d trials failed, the last as '%s': %s", row->n_failed,
                    ot_outcome_name(row->failed->record.outcome),
                    row->failed->record.message ? row->failed->record.message : "no message");
}

static const char *standing(const ot_choice_row *row)
{
    if (row->winner)
        return "chosen";
    if (row->candidate.refusal != OT_VALID)
        return row->fact ? "refused, measured" : "refused";
    if (row->fallback_why[0])
        return "passed over";
    if (row->fact)
        return row->tied ? "tied" : "slower";
    if (row->hint && !row->hint_why[0])
        return "hinted";
    if (row->stale)
        return "stale only";
    return row->failed ? "failed only" : "never measured";
}

static void print_row(const optune_task *task, const ot_choice *choice, int i, int width,
                      ot_text *to)
{
    const ot_choice_row *row = &choice->row[i];
    char time[32] = "-", low[32], high[32], interval[80] = "";
    if (row->fact) {
        const optune_record *r = &row->fact->record;
        time_text(row, r->cost, time);
        if (r->low > 0)
            snprintf(interval, sizeof interval, "%s .. %s", time_text(row, r->low, low),
                     time_text(row, r->high, high));
    }
    ot_text_printf(to, "  %c %-*s %6d  %10s  %-24s  %s\n", row->winner ? '*' : ' ', width,
                   row->candidate.impl->name, row->candidate.plevel, time, interval,
                   standing(row));
    print_detail(task, choice, i, to);
}

static void print_reasons(const optune_task *task, const ot_choice *choice, ot_text *to)
{
    const ot_choice_row *winner = &choice->row[choice->winner];
    const int second = runner_up(choice);
    int tied = 0;
    for (int i = 0; i < choice->n; i++) {
        tied += choice->row[i].tied;
        if (choice->row[i].fallback_why[0])
            wrap_printf(to, 2, "warning: %s is passed over: it refuses its own fallback config",
                        choice->row[i].candidate.impl->name);
    }
    if (tied > 1)
        wrap_printf(to, 2,
                    "%d implementations are tied (within 3 %% of the fastest, and their "
                    "intervals overlap): "
                    "the highest plevel wins, then the first",
                    tied);
    if (second >= 0)
        wrap_printf(to, 2, "runner-up %s: %+.1f %%", choice->row[second].candidate.impl->name,
                    100 * margin(choice, second));
    for (int i = 0; i < choice->n; i++) {
        const ot_choice_row *row = &choice->row[i];
        if (row->candidate.refusal == OT_REFUSED_LIBRARY && row->fact && winner->fact &&
            row->fact->record.cost < winner->fact->record.cost)
            wrap_printf(to, 2, "%s would be %.2f times as fast: name its library with -libs=%s",
                        row->candidate.impl->name,
                        winner->fact->record.cost / row->fact->record.cost,
                        row->candidate.impl->library);
        if (row->candidate.refusal == OT_VALID && !row->fact && winner->fact)
            wrap_printf(to, 2, "%s was not compared: %s", row->candidate.impl->name,
                        standing(row));
    }
    wrap_printf(to, 2, "by plevel alone: %s (%d)%s",
                choice->row[choice->default_row].candidate.impl->name,
                choice->row[choice->default_row].candidate.plevel,
                choice->default_row == choice->winner ? ", the same" : "");
    const optune_strategy *strategy = ot_strategy_find(task->call->op, task->target);
    ot_text origin = {0};
    if (strategy)
        ot_strategy_origin(strategy, &origin);
    if (strategy)
        wrap_printf(to, 2, "strategy of %s", ot_text_str(&origin));
    ot_text_release(&origin);
}

void ot_choice_text(const optune_task *task, const ot_choice *choice, bool explain, ot_text *to)
{
    ot_text call = {0};
    ot_call_print(task->call, &call);
    wrap(to, 0, ot_text_str(&call));
    ot_text_release(&call);
    print_winner(choice, to);
    if (!explain)
        return;
    const ot_choice all = asked(task, choice);
    choice = &all;
    int width = 14;
    for (int i = 0; i < choice->n; i++) {
        const int n = (int)strlen(choice->row[i].candidate.impl->name);
        width = n > width ? n : width;
    }
    ot_text_printf(to, "\n    %-*s plevel  %10s  interval\n", width, "implementation", "time");
    for (int i = 0; i < choice->n; i++)
        print_row(task, choice, i, width, to);
    ot_text_add(to, "\n");
    print_reasons(task, choice, to);
    free(all.row);
}

void ot_choice_log(const optune_task *task, const ot_choice *choice, ot_text *to)
{
    const char *op = task->call->op->name;
    const ot_choice_row *winner = &choice->row[choice->winner];
    for (int i = 0; i < choice->n; i++) {
        const ot_choice_row *row = &choice->row[i];
        if (row->fact && row->candidate.refusal == OT_VALID)
            ot_text_printf(to, "Implementation %s for %s has cost %.2e\n",
                           row->candidate.impl->name, op, row->fact->record.cost);
    }
    const ot_fact *rests = choice->tier == OT_TIER_HINTED ? winner->hint : winner->fact;
    if (choice->tier == OT_TIER_PLEVEL)
        ot_text_printf(to, "Using %s for %s based on highest priority (%d)\n",
                       winner->candidate.impl->name, op, winner->candidate.plevel);
    else if (rests->record.cost <= 0)
        ot_text_printf(to, "Using %s for %s based on %s\n", winner->candidate.impl->name, op,
                       source_of(&rests->record));
    else
        ot_text_printf(to, "Using %s for %s based on lowest cost (%.2e)\n",
                       winner->candidate.impl->name, op, rests->record.cost);
}

void ot_choice_warnings(const ot_choice *choice, ot_text *to)
{
    if (choice->unread)
        ot_text_printf(to, "chosen without records, as none can be read: %s\n",
                       choice->unread_why);
    else if (choice->unread_why[0])
        ot_text_printf(to, "%s\n", choice->unread_why);
    for (int i = 0; i < choice->n; i++) {
        const ot_choice_row *row = &choice->row[i];
        if (row->fallback_why[0])
            ot_text_printf(to,
                           "%s (plevel %d) is passed over: it refuses its own fallback config: "
                           "%s\n",
                           row->candidate.impl->name, row->candidate.plevel, row->fallback_why);
    }
}

/* ---- for programs ------------------------------------------------------------------------ */

static json_t *fact_json(const ot_fact *fact, const char *why)
{
    static const char *const currency[] = {[OT_CURRENT] = "current",
                                           [OT_STALE] = "stale",
                                           [OT_UNVERIFIABLE] = "unverifiable",
                                           [OT_HINT] = "hint"};
    if (!fact)
        return json_null();
    const optune_record *r = &fact->record;
    json_t *json =
        json_pack("{s:s, s:o}", "currency",
                  currency[why[0] && fact->currency == OT_CURRENT ? OT_STALE : fact->currency],
                  "why", ot_text_json(why[0] ? why : NULL));
    ot_record_show(r, OT_SHOWN_ANSWER, json);
    json_object_set_new(json, "interval",
                        r->low > 0 ? json_pack("[ff]", r->low, r->high) : json_null());
    json_object_set_new(json, "age",
                        r->time > 0 ? json_real(ot_unix_time() - r->time) : json_null());
    return json;
}

static json_t *failed_json(const ot_choice_row *row)
{
    if (row->n_failed == 0)
        return json_null();
    const optune_record *last = row->failed ? &row->failed->record : NULL;
    return json_pack("{s:i, s:o, s:o}", "trials", row->n_failed, "last",
                     ot_text_json(last ? ot_outcome_name(last->outcome) : NULL), "message",
                     ot_text_json(last ? last->message : NULL));
}

static json_t *row_json(const optune_task *task, const ot_choice *choice, int i)
{
    const ot_choice_row *row = &choice->row[i];
    const ot_considered *c = &row->candidate;
    char why[OPTUNE_WHY_SIZE], stale_why[OPTUNE_WHY_SIZE];
    ot_choice_why(task, choice, i, why);
    json_t *json = json_pack(
        "{s:s, s:i, s:i, s:o, s:s, s:o, s:s, s:b, s:b, s:o, s:o, s:o}", "impl", c->impl->name,
        "plevel", c->plevel, "order", c->order, "library", ot_text_json(c->impl->library),
        "refusal", refusal_text[c->refusal], "why",
        ot_text_json(c->refusal == OT_VALID ? NULL : why), "standing", standing(row), "winner",
        row->winner, "tied", row->tied, "record",
        fact_json(row->fact, row->fact ? row->fact->why : ""), "stale",
        fact_json(row->stale, ot_choice_stale_why(row, stale_why)), "failed", failed_json(row));
    json_object_set_new(json, "hint", fact_json(row->hint, row->hint ? row->hint->why : ""));
    json_object_set_new(json, "hint_unfit",
                        ot_text_json(row->hint_why[0] ? row->hint_why : NULL));
    json_object_set_new(json, "fallback_refused",
                        ot_text_json(row->fallback_why[0] ? row->fallback_why : NULL));
    return json;
}

static json_t *warnings_json(const ot_choice *choice)
{
    json_t *list = json_array();
    ot_text text = {0};
    ot_choice_warnings(choice, &text);
    const char *line = ot_text_str(&text);
    for (size_t n; *line; line += n + 1) {
        n = strcspn(line, "\n");
        json_array_append_new(list, json_stringn(line, n));
    }
    ot_text_release(&text);
    return list;
}

static json_t *choice_json(const optune_task *task, const ot_choice *choice)
{
    const ot_choice_row *winner = &choice->row[choice->winner];
    const ot_choice_row *plain = &choice->row[choice->default_row];
    const int second = runner_up(choice);
    ot_text call = {0};
    ot_call_print(task->call, &call);
    json_t *rows = json_array(), *libs = json_array();
    for (int i = 0; i < choice->n; i++)
        json_array_append_new(rows, row_json(task, choice, i));
    for (int i = 0; i < task->target->n_libs; i++)
        json_array_append_new(libs, json_string(task->target->lib[i]));
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:i, s:o, s:s, s:s, s:s, s:i, s:o, s:I, s:o, s:o, s:{s:s, s:i}, s:o}",
        "call", ot_text_str(&call), "op", task->call->op->name, "target", task->target->kind,
        "threads", task->target->threads, "libs", libs, "device", task->device->key, "tier",
        tier_text[choice->tier], "impl", winner->candidate.impl->name, "plevel",
        winner->candidate.plevel, "config", ot_config_json(choice->config), "index",
        (json_int_t)choice->config->index, "cost",
        winner->fact ? json_real(winner->fact->record.cost) : json_null(), "runner_up",
        second < 0
            ? json_null()
            : json_pack("{s:s, s:f, s:f}", "impl", choice->row[second].candidate.impl->name,
                        "cost", choice->row[second].fact->record.cost, "margin",
                        margin(choice, second)),
        "by_plevel", "impl", plain->candidate.impl->name, "plevel", plain->candidate.plevel,
        "candidates", rows);
    json_object_set_new(json, "warnings", warnings_json(choice));
    ot_text_release(&call);
    return json;
}

json_t *ot_choice_json(const optune_task *task, const ot_choice *choice)
{
    const ot_choice all = asked(task, choice);
    json_t *json = choice_json(task, &all);
    free(all.row);
    return json;
}
