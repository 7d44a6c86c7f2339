/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run found, as rows that its result keeps: of these its document is made, and programs walk
 * them. The one idea: they are copies that depend on nothing, neither run, handle nor database.
 */
#include <math.h>
#include <string.h>

#include "answer/figures.h"
#include "base/fenv.h"
#include "base/record.h"
#include "tuner/report.h"

static const optune_record *keep(ot_arena *arena, const optune_record *record)
{
    if (!record)
        return NULL;
    optune_record *own = ot_arena_alloc(arena, sizeof *own);
    ot_record_keep(arena, own, record);
    return own;
}

/* NULL of a text that says nothing. */
static const char *said(ot_arena *arena, const char *text)
{
    return text && *text ? ot_arena_copy(arena, text) : NULL;
}

static void add_ties(ot_run_rows *to, const ot_choice *choice, optune_run_row *row)
{
    const optune_record **tie =
        ot_arena_alloc(&to->arena, (size_t)(choice->n + 1) * sizeof(optune_record *));
    for (int i = 0; i < choice->n; i++)
        if (choice->row[i].tied && !choice->row[i].winner)
            tie[row->n_ties++] = keep(&to->arena, &choice->row[i].fact->record);
    row->ties = tie;
}

bool ot_row_answered(const ot_run *run, const ot_row *r)
{
    const char *const *only = run->options->impls;
    if (r->best || !r->known || !only || !only[0])
        return r->best != NULL;
    for (int i = 0; only[i]; i++)
        if (!ot_impl_find(only[i])->library)
            return false;
    return true;
}

/* Why a workload has no winner, or ended early; NULL: neither. */
static const char *problem_of(ot_arena *arena, const ot_run *run, const ot_row *r,
                              const ot_tuned *tuned)
{
    if (*tuned->problem)
        return ot_arena_copy(arena, tuned->problem);
    if (ot_row_answered(run, r))
        return NULL;
    if (r->known)
        return "of what may be selected nothing was measured";
    if (ot_context_stopped(run->o))
        return "interrupted before anything was measured";
    return tuned->done ? "nothing measured within the limits" : "the run ended before its turn";
}

static const double *figures(ot_arena *arena, const ot_run *run, const optune_call *call,
                             const ot_row *r)
{
    double *value = ot_arena_alloc(arena, (size_t)(run->metrics.n + 1) * sizeof *value);
    for (int i = 0; i < run->metrics.n; i++)
        value[i] = r->best ? ot_metric_value(&run->metrics, i, call, r->best) : NAN;
    return value;
}

static void add(ot_run_rows *to, const ot_run *run, const optune_call *call, const ot_row *r,
                const ot_tuned *tuned)
{
    ot_arena *arena = &to->arena;
    optune_run_row *row = &to->row[to->total.workloads++];
    ot_text text = {0};
    ot_text disturbance = {0};
    char library[128] = "";
    ot_call_print(call, &text);
    if (r->troubled)
        ot_disturbance_say(&r->trouble, &disturbance);
    if (r->library)
        ot_record_library(r->library, library, sizeof library);
    *row = (optune_run_row){
        .size = sizeof *row,
        .call = ot_arena_copy(arena, ot_text_str(&text)),
        .label = ot_arena_copy(arena, r->label),
        .winner = keep(arena, r->best),
        .fallback = keep(arena, r->fallback),
        .library = keep(arena, r->library),
        .known = keep(arena, r->known),
        .library_name = said(arena, library),
        .flops = r->flops,
        .bytes = r->bytes,
        .moves = r->moves,
        .effective = ot_row_effective(r),
        .rate = ot_row_rate(r),
        .share = ot_row_share(run, r),
        .cached = ot_row_cached(run, r),
        .disturbed = r->troubled ? ot_disturbance_share(&r->trouble) : -1,
        .trials = tuned->trials,
        .new_trials = tuned->new_trials,
        .space = tuned->space,
        .problem = problem_of(arena, run, r, tuned),
        .standard = said(arena, call->op->judge ? call->op->judge : call->op->standard),
        .op = ot_arena_copy(arena, call->op->name),
        .disturbance = said(arena, ot_text_str(&disturbance)),
        .reference = r->library && ot_baseline_is_reference(r->library),
        .failed = tuned->failed,
        .judged = call->op->judge != NULL,
        .absolute = call->op->absolute,
        .relative = call->op->relative,
        .metrics = figures(arena, run, call, r),
        .minimised = ot_arena_copy(arena, call->op->minimised ? call->op->minimised : "time"),
        .unitless = call->op->unitless,
        .unwritten = tuned->unasked - 1,
    };
    memcpy(row->failures, tuned->failures, sizeof row->failures);
    _Static_assert(sizeof row->failures == sizeof tuned->failures, "of all outcomes");
    add_ties(to, &r->choice, row);
    ot_text_release(&text);
    ot_text_release(&disturbance);
}

ot_run_rows *ot_run_rows_of(const ot_run *run, const ot_row *all, const ot_tuned *tuned)
{
    ot_run_rows *to = ot_alloc(sizeof *to);
    ot_arena *arena = &to->arena;
    ot_text target = {0}, words = {0};
    ot_disturbance worst;
    to->row = ot_arena_alloc(arena, (size_t)(run->n_workloads + 1) * sizeof *to->row);
    if (ot_rows_trouble(all, run->n_workloads, &worst))
        ot_disturbance_say(&worst, &words);
    ot_target_print(&run->o->target, false, &target);
    to->total = (optune_run_total){
        .size = sizeof to->total,
        .op = run->op ? run->op->name : NULL,
        .target = ot_arena_copy(arena, ot_text_str(&target)),
        .device = ot_arena_copy(arena, run->o->device.key),
        .search = run->search->name,
        .new_trials = run->new_trials,
        .failures = run->failures,
        .interrupted = ot_context_stopped(run->o),
        .seconds = ot_now() - run->started,
        .peak_flops = run->peak.flops,
        .peak_bandwidth = run->peak.bandwidth,
        .peak_tensor = run->peak.tensor,
        .counters_why = said(arena, ot_worker_counters_why(run->worker)),
        .disturbance = said(arena, ot_text_str(&words)),
        .device_name = ot_arena_copy(arena, run->o->device.name),
        .threads = run->o->target.threads,
    };
    const char **name = ot_arena_alloc(arena, (size_t)(run->metrics.n + 1) * sizeof *name);
    for (int i = 0; i < run->metrics.n; i++)
        name[i] = ot_arena_copy(arena, run->metrics.name[i]);
    to->total.n_metrics = run->metrics.n;
    to->total.metrics = name;
    for (int i = 0; i < run->n_workloads; i++)
        add(to, run, &run->call[i], &all[i], &tuned[i]);
    ot_text_release(&target);
    ot_text_release(&words);
    return to;
}

void ot_run_rows_drop(void *rows)
{
    ot_run_rows *r = rows;
    ot_arena_release(&r->arena);
    free(r);
}

int optune_result_row(const optune_result *result, int index, optune_run_row *row,
                      optune_err *err)
{
    OT_ENTER(err, {"result", result}, {"row", row});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_run_row, row));
    const ot_run_rows *rows = ot_result_rows(result, ot_run_rows_drop);
    if (!rows || index < 0 || index >= rows->total.workloads)
        return 1;
    ot_sized_give(&rows->row[index], sizeof *rows->row, row);
    return OPTUNE_OK;
}

int optune_result_total(const optune_result *result, optune_run_total *total, optune_err *err)
{
    OT_ENTER(err, {"result", result}, {"total", total});
    OT_RETURN_UNLESS_OK(OT_SIZED_CHECK(err, optune_run_total, total));
    const ot_run_rows *rows = ot_result_rows(result, ot_run_rows_drop);
    if (!rows)
        return 1;
    ot_sized_give(&rows->total, sizeof rows->total, total);
    return OPTUNE_OK;
}
