/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optune_list_tuned: what is stored, a row a question, with what a selection would say of it now.
 * Text is a table for each device, target and policy.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/exchange/asked.h"
#include "answer/list/list.h"
#include "base/fenv.h"
#include "base/record.h"
#include "base/table.h"

/* What is known of a question, the worst last. */
typedef enum state {
    TUNED,
    UNVERIFIED,
    STALE,
    REFUSED, /* it was measured, but may not be selected here, as a library that is not named */
    HINTED,
    FAILED,
    UNKNOWN, /* it cannot be asked here */
    N_STATES,
} state;
static const char *const state_name[] = {
    [TUNED] = "tuned",     [UNVERIFIED] = "unverified", [STALE] = "stale",
    [REFUSED] = "refused", [HINTED] = "hinted",         [FAILED] = "failed",
    [UNKNOWN] = "unknown",
};

enum { WORKLOAD, WINNER, COST, WIDTH, TRIED, N_FAILED, AGE };

typedef struct listing {
    ot_asking asking;
    json_t *rows;
    ot_table table; /* of the group at hand */
    bool costs;     /* a row of it has no unit; `times`: one has */
    bool times;
    const ot_asked *group; /* any of its questions; NULL: none yet */
    int width, n[N_STATES];
    ot_text text;
} listing;

/* ---- one question ------------------------------------------------------------------------ */

/* Why nothing of it is selected; the cheapest stale record, if there is one, in *stale.
 * In text[OPTUNE_WHY_SIZE], or of the choice. */
static const char *why_not(const ot_asked *asked, const ot_choice *choice,
                           const optune_record **stale, char *text)
{
    const char *why = asked->measured ? "only what may not be selected here was measured well"
                                      : "every trial failed";
    *stale = NULL;
    for (int i = 0; i < choice->n; i++) {
        const ot_choice_row *row = &choice->row[i];
        if (row->stale && (!*stale || row->stale->record.cost < (*stale)->cost)) {
            *stale = &row->stale->record;
            why = ot_choice_stale_why(row, text);
        }
    }
    return why;
}

static void add_json(listing *l, const ot_asked *asked, state is, const optune_record *best,
                     const char *why)
{
    json_t *row = json_object();
    ot_set_text(row, "call", asked->call);
    ot_set_text(row, "device", asked->device);
    ot_set_text(row, "target", asked->target);
    ot_set_text(row, "policy", asked->policy);
    ot_set_text(row, "state", state_name[is]);
    ot_set_text(row, "impl", best ? best->impl : NULL);
    ot_text config = {0};
    if (best)
        ot_config_print_short(&best->config, &config);
    ot_set_text(row, "config", best ? ot_text_str(&config) : NULL);
    ot_text_release(&config);
    json_object_set_new(row, "cost", best ? json_real(best->cost) : json_null());
    json_object_set_new(row, "low", best ? json_real(best->low) : json_null());
    json_object_set_new(row, "high", best ? json_real(best->high) : json_null());
    ot_set_int(row, "measured", asked->measured);
    ot_set_int(row, "failed", asked->failed);
    ot_set_int(row, "hints", asked->hints);
    json_object_set_new(row, "time", json_real(best ? best->time : asked->time));
    ot_set_text(row, "why", why);
    json_array_append_new(l->rows, row);
}

static void number(ot_table *table, int column, const char *format, double value)
{
    char text[32];
    ot_format(text, sizeof text, format, value);
    ot_table_cell(table, column, text);
}

static void add_text(listing *l, const ot_asked *asked, const optune_call *call, state is,
                     const optune_record *best, const char *why)
{
    char text[OPTUNE_TEXT_SIZE];
    ot_table *table = &l->table;
    ot_table_row(table);
    if (call)
        ot_call_label(call, true, text, sizeof text);
    ot_table_cell(table, WORKLOAD, call ? text : asked->call);
    if (best && is <= UNVERIFIED) {
        const bool unitless = call->op->unitless;
        l->costs = l->costs || unitless;
        l->times = l->times || !unitless;
        ot_table_cell(table, WINNER, best->impl);
        number(table, COST, unitless ? "%.6g" : "%.2f", best->cost * (unitless ? 1 : 1e6));
        number(table, WIDTH, "%.1f", 50 * (best->high - best->low) / best->cost);
        number(table, TRIED, "%.0f", asked->measured + asked->failed);
        number(table, N_FAILED, "%.0f", asked->failed);
        char age[32];
        snprintf(text, sizeof text, "%s%s", is == TUNED ? "" : "unverified, ",
                 ot_age_text(best->time, age));
        ot_table_cell(table, AGE, text);
        return;
    }
    ot_text rest = {0};
    ot_text_printf(&rest, "%s: %s", state_name[is], why);
    ot_table_rest(table, ot_text_str(&rest));
    ot_text_release(&rest);
}

/* ---- groups ------------------------------------------------------------------------------ */

static void begin_group(listing *l, const ot_asked *first)
{
    static const ot_column column[] = {
        [WORKLOAD] = {.name = "workload", .left = true},
        [WINNER] = {.name = "winner", .left = true, .least = 6},
        [COST] = {.name = "time us"},
        [WIDTH] = {.name = "+-%", .least = 3},
        [TRIED] = {.name = "records", .least = 2},
        [N_FAILED] = {.name = "failed", .least = 1},
        [AGE] = {.name = "measured", .least = 4},
    };
    l->table = (ot_table){0};
    for (int i = 0; i < OT_COUNT(column); i++)
        ot_table_column(&l->table, &column[i]);
    l->costs = l->times = false;
    l->group = first;
}

static void end_group(listing *l)
{
    const ot_asked *g = l->group;
    if (!g)
        return;
    if (l->costs)
        l->table.column[COST].name = l->times ? "us or cost" : "cost";
    ot_text_printf(&l->text, "%s%s%s%s on %s\n", l->text.n ? "\n" : "", g->target,
                   strcmp(g->policy, "warm") != 0 ? ", measured " : "",
                   strcmp(g->policy, "warm") != 0 ? g->policy : "", g->device);
    ot_table_print(&l->table, OT_TABLE_TEXT, l->width, &l->text);
    ot_table_release(&l->table);
    l->group = NULL;
}

static void add(listing *l, const ot_asked *asked)
{
    optune_err err = {0};
    ot_arena arena = {0};
    optune_call *call = ot_alloc(sizeof *call);
    ot_choice *choice = ot_alloc(sizeof *choice);
    const optune_record *best = NULL;
    const char *why = NULL;
    char text[OPTUNE_WHY_SIZE];
    state is = UNKNOWN;
    if (!asked->measured && !asked->failed) { /* of a device that nobody was asked about */
        is = ot_call_parse(asked->call, call, &err) < 0 ? UNKNOWN : HINTED;
        why = is == HINTED ? "only logs of others have it" : err.text;
    } else if (ot_asking_select(&l->asking, asked, &arena, call, choice, &err) < 0) {
        why = err.text;
    } else if (ot_choice_measured(choice)) {
        is = choice->tier == OT_TIER_TUNED ? TUNED : UNVERIFIED;
        best = &choice->row[choice->winner].fact->record;
    } else {
        why = why_not(asked, choice, &best, text);
        is = best ? STALE : asked->measured ? REFUSED : FAILED;
    }
    err.text[strcspn(err.text, "\n")] = 0; /* a place in the call's text is of no interest */
    if (l->group &&
        (strcmp(l->group->device, asked->device) || strcmp(l->group->target, asked->target) ||
         strcmp(l->group->policy, asked->policy)))
        end_group(l);
    if (!l->group)
        begin_group(l, asked);
    l->n[is]++;
    add_json(l, asked, is, best, why);
    add_text(l, asked, call->op ? call : NULL, is, best, why);
    ot_choice_free(choice);
    free(call);
    ot_arena_release(&arena);
}

/* ---- the whole --------------------------------------------------------------------------- */

static void sum_up(listing *l)
{
    end_group(l);
    if (!l->asking.n) {
        ot_text_add(&l->text, "nothing is stored of that; `optune run` measures\n");
        return;
    }
    ot_text_printf(&l->text, "\n%d workload%s: ", l->asking.n, l->asking.n == 1 ? "" : "s");
    bool any = false;
    for (int i = 0; i < N_STATES; i++) {
        if (l->n[i])
            ot_text_printf(&l->text, "%s%d %s", any ? ", " : "", l->n[i], state_name[i]);
        any = any || l->n[i];
    }
    ot_text_add(&l->text, "\n");
}

int optune_list_tuned(optune *o, const optune_export_options *conditions, int width,
                      optune_result **result, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"conditions", conditions}, {"result", result});
    *result = NULL;
    optune_export_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_export_options, conditions, &own));
    listing l = {.rows = json_array(), .width = width};
    int status = ot_asking_begin(&l.asking, o, &own, err);
    if (status >= 0)
        status = ot_asking_collect(&l.asking, err);
    for (int i = 0; i < l.asking.n && status >= 0; i++) {
        add(&l, &l.asking.asked[i]);
        status = ot_context_stopped(o) ? OPTUNE_EINTERRUPTED : OPTUNE_OK;
    }
    if (status >= 0) {
        sum_up(&l);
        *result = ot_result_new(l.text.s, ot_wrap("workloads", json_incref(l.rows)));
        l.text.s = NULL;
    }
    ot_table_release(&l.table);
    json_decref(l.rows);
    ot_asking_end(&l.asking);
    ot_text_release(&l.text);
    if (status == OPTUNE_EINTERRUPTED) {
        optune_fail(err, status, "interrupted");
        atomic_store(&o->stop, false); /* it was this list that was asked to end */
    }
    return status;
}
