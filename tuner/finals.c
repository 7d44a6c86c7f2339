/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last word on one workload: the best config of every implementation, libraries included,
 * the runners-up, and what plevel alone would have used with its fallback config, verified with
 * a second seed and measured interleaved, so that drift of a shared machine meets all alike.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/speed.h"

enum { MAX_FINALISTS = 16, RUNNERS_UP = 3 };
static const double LATE_S = 1; /* a compiler may be late by */
static const double FAR = 2;    /* beyond this times the fastest nothing is close */
#define NEAR 1.15               /* a runner-up is within this of the fastest */

typedef struct finalist {
    const optune_impl *impl;
    optune_config config;
    double cost;
    bool measured; /* has a final record already */
} finalist;

typedef struct field {
    finalist item[MAX_FINALISTS];
    int n;
} field;

static finalist *find(field *f, const optune_impl *impl, const optune_config *config)
{
    for (int i = 0; i < f->n; i++)
        if (f->item[i].impl == impl && ot_config_equal(&f->item[i].config, config))
            return &f->item[i];
    return NULL;
}

static void add(field *f, const optune_impl *impl, const optune_config *config, double cost)
{
    if (f->n < MAX_FINALISTS && !find(f, impl, config))
        f->item[f->n++] = (finalist){impl, *config, cost, false};
}

/* One that takes most of the time that there is, and is far behind, would keep all others from
 * being measured well; its first figure says enough. */
static void drop_slow(field *f, double seconds)
{
    double best = INFINITY;
    int n = 0;
    for (int i = 0; i < f->n; i++)
        best = fmin(best, f->item[i].cost);
    for (int i = 0; i < f->n; i++)
        if (!(isfinite(f->item[i].cost) && f->item[i].cost > FAR * best &&
              f->item[i].cost * OT_FINAL_RUNS > seconds))
            f->item[n++] = f->item[i];
    f->n = n;
}

static int by_cost(const void *a, const void *b)
{
    const double x = ((const finalist *)a)->cost, y = ((const finalist *)b)->cost;
    return (x > y) - (x < y);
}

/* Whoever was not timed yet goes first. */
static void keep_fastest(field *f, int most)
{
    if (f->n <= most)
        return;
    qsort(f->item, (size_t)f->n, sizeof *f->item, by_cost);
    f->n = most;
}

static bool usable(const ot_fact *fact)
{
    return fact->currency != OT_STALE && fact->record.outcome == OPTUNE_OUTCOME_OK;
}

static bool failed(const ot_fact *fact, int n, const optune_impl *impl,
                   const optune_config *config)
{
    for (int i = 0; i < n; i++)
        if (fact[i].record.outcome != OPTUNE_OUTCOME_OK && fact[i].currency != OT_STALE &&
            !strcmp(fact[i].record.impl, impl->name) &&
            ot_config_equal(&fact[i].record.config, config))
            return true;
    return false;
}

/* The cheapest that is no finalist yet, at the speed that all are told by. */
static void add_runner_up(field *f, double most, const ot_fact *fact, int n_facts)
{
    const optune_record *next = NULL;
    for (int i = 0; i < n_facts; i++) {
        const optune_record *r = &fact[i].record;
        const optune_impl *impl = ot_impl_find(r->impl);
        if (!usable(&fact[i]) || r->final || ot_speed_even(r) > most || !impl ||
            (next && ot_speed_even(next) <= ot_speed_even(r)))
            continue;
        if (!find(f, impl, &r->config))
            next = r;
    }
    if (next)
        add(f, ot_impl_find(next->impl), &next->config, ot_speed_even(next));
}

static void choose(const ot_tuning_spot *spot, field *f, const ot_arm *arm, int n,
                   const ot_fact *fact, int n_facts)
{
    double best = INFINITY;
    for (int i = 0; i < n; i++) {
        best = fmin(best, arm[i].best);
        if (isfinite(arm[i].best))
            add(f, arm[i].impl, &arm[i].best_config, arm[i].best);
    }
    for (int i = 0; i < spot->n_hints; i++)
        if (!failed(fact, n_facts, spot->hint[i], spot->hint_config[i]))
            add(f, spot->hint[i], spot->hint_config[i], INFINITY);
    int next = -1; /* the plevel default among what may be selected */
    for (int i = 0; i < n; i++)
        if (arm[i].candidate->refusal == OT_VALID && arm[i].has_fallback &&
            (next < 0 || arm[i].candidate->plevel > arm[next].candidate->plevel))
            next = i;
    if (next >= 0 && !failed(fact, n_facts, arm[next].impl, &arm[next].fallback))
        add(f, arm[next].impl, &arm[next].fallback, INFINITY);
    for (int runners = 0; runners < RUNNERS_UP; runners++)
        add_runner_up(f, best * NEAR, fact, n_facts);
    for (int i = 0; i < n_facts; i++) {
        finalist *known =
            ot_impl_find(fact[i].record.impl)
                ? find(f, ot_impl_find(fact[i].record.impl), &fact[i].record.config)
                : NULL;
        if (known && fact[i].record.final && fact[i].currency != OT_STALE)
            known->measured = true;
    }
}

int ot_compare(ot_run *run, const ot_contender *who, int n, double seconds, ot_arena *arena,
               ot_trial_result *result, optune_err *err)
{
    ot_job *job = ot_alloc((size_t)n * sizeof *job);
    ot_trial *trial = ot_alloc((size_t)n * sizeof *trial);
    ot_trial_result *raced = ot_alloc((size_t)n * sizeof *raced);
    int *index = ot_alloc((size_t)n * sizeof *index);
    optune_plan *plan = ot_alloc(sizeof *plan);
    int status = OPTUNE_OK, m = 0;
    for (int i = 0; i < n && status >= 0; i++) {
        result[i] =
            (ot_trial_result){.outcome = OPTUNE_OUTCOME_INSTANTIATION, .cost = INFINITY};
        status = ot_plan_make(who[i].task, who[i].impl, who[i].config, plan, NULL) < 0
                     ? OPTUNE_OK
                     : ot_builder_submit(run->builder, who[i].task, plan, &job[i], err);
    }
    for (int i = 0; i < n && status >= 0; i++) {
        while (job[i].work && !job[i].done && !ot_context_stopped(run->o) &&
               ot_now() < run->end + LATE_S)
            ot_builder_wait(run->builder, &job[i], 0.2);
        if (ot_context_stopped(run->o))
            status = OPTUNE_EINTERRUPTED;
        if (job[i].work && !job[i].done) {
            result[i].outcome = OPTUNE_OUTCOME_BUILD_TIMEOUT;
        } else if (job[i].status < 0) {
            status = optune_fail(err, job[i].status, "cannot compile: %.900s", job[i].message);
        } else if (job[i].done && job[i].outcome != OPTUNE_OUTCOME_OK) {
            result[i].outcome = job[i].outcome;
            result[i].message = ot_arena_copy(arena, job[i].message);
        }
        if (!job[i].done || job[i].outcome != OPTUNE_OUTCOME_OK)
            continue;
        trial[m] = (ot_trial){.impl = who[i].impl,
                              .config = who[i].config,
                              .job = &job[i],
                              .best = INFINITY,
                              .range = who[i].range};
        index[m++] = i;
    }
    if (status >= 0 && m) {
        ot_text call = {0};
        ot_call_print(who[0].at ? who[0].at : who[0].task->call, &call);
        status = ot_worker_workload(run->worker, ot_text_str(&call), run->options->seed, err);
        ot_text_release(&call);
    }
    if (status >= 0 && m)
        status = ot_watched_finals(run, trial, m, seconds, arena, raced, err);
    for (int k = 0; k < m && status >= 0; k++) {
        result[index[k]] = raced[k];
        status = ot_record_trial(run, &who[index[k]], &raced[k], raced[k].seconds, true, err);
    }
    for (int i = 0; i < n; i++)
        if (job[i].work && !job[i].done)
            ot_builder_forget(run->builder, &job[i]);
    free(job);
    free(trial);
    free(raced);
    free(index);
    free(plan);
    return status;
}

static int measure(ot_run *run, const optune_task *task, field *f, double seconds,
                   optune_err *err)
{
    ot_arena arena = {0};
    ot_contender who[MAX_FINALISTS];
    ot_trial_result result[MAX_FINALISTS];
    for (int i = 0; i < f->n; i++)
        who[i] = (ot_contender){.task = task,
                                .impl = f->item[i].impl,
                                .config = &f->item[i].config,
                                .at = run->spot.at,
                                .range = run->spot.range,
                                .policy = run->spot.policy};
    const int status = ot_compare(run, who, f->n, seconds, &arena, result, err);
    ot_arena_release(&arena);
    return status;
}

int ot_finals(ot_run *run, const optune_task *task, ot_arm *arm, int n, int most,
              double seconds, optune_err *err)
{
    ot_arena arena = {0};
    ot_fact *fact;
    int n_facts = 0;
    field *f = ot_alloc(sizeof *f);
    int status =
        ot_context_facts_at(run->o, task, run->spot.policy, &arena, &fact, &n_facts, err);
    bool all_measured = true;
    if (status >= 0) {
        choose(&run->spot, f, arm, n, fact, n_facts);
        drop_slow(f, seconds);
        keep_fastest(f, most);
        for (int i = 0; i < f->n; i++)
            all_measured = all_measured && f->item[i].measured;
    }
    if (status >= 0 && f->n && (!all_measured || run->options->again)) {
        ot_run_report(run, "finals", NULL);
        status = measure(run, task, f, seconds, err);
    }
    free(f);
    ot_arena_release(&arena);
    return status;
}
