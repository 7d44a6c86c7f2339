/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search over one workload: what is known, then arms -> configs -> plans -> modules ->
 * trials -> records, until its budget, its time, its spaces or the user's patience ends. Compiling
 * runs ahead of measuring through a short queue; what is built first is measured first, so that a
 * compiler that takes long holds up nobody.
 */
#include <math.h>
#include <string.h>

#include "tuner/tune.h"

enum { QUEUE = 8 };

typedef struct slot {
    int arm;
    optune_config config;
    ot_job job;
} slot;

typedef struct tuning {
    ot_run *run;
    optune_task task;
    ot_candidate candidate[OT_MAX_CANDIDATES];
    ot_arm arm[OT_MAX_CANDIDATES];
    int n_arms;
    slot *queue[QUEUE];
    int n_queued;
    int workload;
    ot_text call;
    double start, seconds; /* ot_now(); its share of the time */
    double end;            /* ot_now() by which it is over, finals included */
    double finals_s;       /* to be spent on sampling the finalists */
    double told_s;         /* telling the worker the workload took */
    double load_s;         /* the longest that a candidate took before its first sample */
    ot_tuned *tuned;
    optune_plan *plan;
} tuning;

static bool wanted(const ot_run *run, const optune_impl *impl)
{
    const char *const *only = run->options->impls;
    for (int i = 0; only && only[i]; i++)
        if (!strcmp(only[i], impl->name))
            return true;
    return !only || !only[0];
}

/* Libraries that -libs does not name are measured as baselines. */
static bool measurable(const ot_candidate *c)
{
    return c->refusal == OT_VALID || c->refusal == OT_REFUSED_LIBRARY;
}

/* One whose library is missing here costs no trial; said loudly where -libs asks for it. */
static bool is_there(const ot_run *run, ot_candidate *c)
{
    char text[OPTUNE_TEXT_SIZE];
    optune_err err = {0};
    if (!c->impl->library || !run->o->row->dependencies ||
        run->o->row->dependencies(&run->o->target, c->impl, text, sizeof text, &err) >= 0)
        return true;
    ot_context_log(run->o, c->refusal == OT_VALID ? OPTUNE_LOG_WARNING : OPTUNE_LOG_INFO,
                   "%s is left out: %s", c->impl->name, err.text);
    c->refusal = OT_REFUSED_LIBRARY;
    snprintf(c->why, sizeof c->why, "%.*s", (int)sizeof c->why - 1, err.text);
    return false;
}

static int open_arms(tuning *t, optune_err *err)
{
    ot_run *run = t->run;
    int n = 0;
    int status = ot_candidates(&t->task, t->candidate, &n, err);
    for (int i = 0; i < n && status >= 0; i++) {
        if (!measurable(&t->candidate[i]) || !wanted(run, t->candidate[i].impl) ||
            !is_there(run, &t->candidate[i]))
            continue;
        status = ot_arm_open(&t->arm[t->n_arms], &t->task, &t->candidate[i], run->search,
                             run->options->seed, err);
        if (status < 0)
            break;
        const int64_t size = optune_space_size(t->arm[t->n_arms].space);
        t->tuned->space += size;
        t->n_arms++;
    }
    if (status >= 0 && !t->n_arms) {
        ot_text why = {0};
        for (int i = 0; i < n; i++)
            if (t->candidate[i].refusal != OT_VALID)
                ot_text_printf(&why, "; %s: %s", t->candidate[i].impl->name,
                               t->candidate[i].why);
        status =
            optune_fail(err, OPTUNE_ENOENT, "no implementation to tune%s", ot_text_str(&why));
        ot_text_release(&why);
    }
    return status;
}

static ot_arm *arm_of(tuning *t, const char *impl)
{
    for (int i = 0; i < t->n_arms; i++)
        if (!strcmp(t->arm[i].impl->name, impl))
            return &t->arm[i];
    return NULL;
}

static void count(tuning *t, int outcome)
{
    t->tuned->trials++;
    if (outcome != OPTUNE_OUTCOME_OK && outcome < (int)OT_COUNT(t->tuned->failures))
        t->tuned->failures[outcome]++;
}

/* Current records count as done; stale ones and other devices' are tried first. */
static int recall(tuning *t, optune_err *err)
{
    ot_arena arena = {0};
    ot_fact *fact;
    int n = 0;
    const int status =
        ot_context_facts_at(t->run->o, &t->task, t->run->spot.policy, &arena, &fact, &n, err);
    for (int i = 0; i < n && status >= 0; i++) {
        const optune_record *r = &fact[i].record;
        ot_arm *arm = arm_of(t, r->impl);
        /* Good finals repeat what a trial said; failed ones take it back. */
        if (!arm || (r->final && r->outcome == OPTUNE_OUTCOME_OK))
            continue;
        if (fact[i].currency == OT_STALE || t->run->options->again) {
            if (r->outcome == OPTUNE_OUTCOME_OK)
                ot_arm_hint(arm, &r->config);
            continue;
        }
        /* Cheapest first: of several records of one config, the best is what counts. */
        if (ot_arm_know(arm, &r->config, r->cost))
            count(t, r->outcome);
    }
    ot_arena_release(&arena);
    const ot_spot *spot = &t->run->spot;
    for (int i = 0; i < spot->n_hints; i++)
        if (arm_of(t, spot->hint[i]->name))
            ot_arm_hint(arm_of(t, spot->hint[i]->name), spot->hint_config[i]);
    ot_text call = {0};
    ot_call_print(t->task.call, &call);
    for (int i = 0; i < t->run->n_hints; i++) {
        ot_arm *arm = arm_of(t, t->run->hint[i].impl);
        if (arm && !strcmp(t->run->hint[i].call, ot_text_str(&call)))
            ot_arm_hint(arm, &t->run->hint[i].config);
    }
    ot_text_release(&call);
    return status;
}

static void best_so_far(tuning *t)
{
    optune_progress *p = &t->run->progress;
    p->best = INFINITY;
    p->best_impl = NULL;
    for (int i = 0; i < t->n_arms; i++)
        if (t->arm[i].best < p->best) {
            p->best = t->arm[i].best;
            p->best_impl = t->arm[i].impl->name;
        }
    p->trial = t->tuned->trials;
}

/* Writes one outcome down and tells everybody. */
static int conclude(tuning *t, slot *s, const ot_trial_result *result, double seconds,
                    optune_err *err)
{
    ot_arm *arm = &t->arm[s->arm];
    const bool ok = result->outcome == OPTUNE_OUTCOME_OK;
    const ot_contender who = {.task = &t->task,
                              .impl = arm->impl,
                              .config = &s->config,
                              .at = t->run->spot.at,
                              .policy = t->run->spot.policy};
    const int status = ot_record_trial(t->run, &who, result, seconds, false, err);
    ot_arm_tell(arm, &s->config, ok ? result->cost : INFINITY);
    count(t, result->outcome);
    if (!t->tuned->new_trials++)
        t->run->first_s = fmax(t->run->first_s, ot_now() - t->start);
    t->run->new_trials++;
    t->run->failures += !ok;
    best_so_far(t);
    t->run->progress.impl = arm->impl->name;
    if (!ok)
        ot_context_log(t->run->o, OPTUNE_LOG_INFO, "%s: %s: %s", arm->impl->name,
                       ot_outcome_name(result->outcome),
                       result->message ? result->message : "");
    if (!ok && !isfinite(t->run->progress.best))
        snprintf(t->tuned->problem, sizeof t->tuned->problem,
                 "nothing measured: %d failed, the last as '%s': %s: %s", t->tuned->new_trials,
                 ot_outcome_name(result->outcome), arm->impl->name,
                 result->message ? result->message : "");
    else
        t->tuned->problem[0] = '\0';
    ot_run_report(t->run, "searching", NULL);
    return status;
}

/* Asks for one more config and sends it to the compilers. 0: nothing is left to ask for. */
static int enqueue(tuning *t, optune_err *err)
{
    slot *s = ot_alloc(sizeof *s);
    for (;;) {
        s->arm = ot_budget_next(t->arm, t->n_arms);
        if (s->arm < 0) {
            free(s);
            return 0;
        }
        if (ot_arm_next(&t->arm[s->arm], &s->config))
            break;
    }
    optune_err misuse = {0};
    int status = ot_plan_make(&t->task, t->arm[s->arm].impl, &s->config, t->plan, &misuse);
    if (status < 0) {
        const ot_trial_result refused = {.outcome = OPTUNE_OUTCOME_INSTANTIATION,
                                         .message = misuse.text};
        status = conclude(t, s, &refused, 0, err);
        free(s);
        return status < 0 ? status : 1;
    }
    status = ot_builder_submit(t->run->builder, &t->task, t->plan, &s->job, &misuse);
    if (status == OPTUNE_ETOOL && t->arm[s->arm].impl->library) {
        /* Bodies that call libraries may take another compiler than all others: theirs is
         * missing, whatever the config. */
        const ot_trial_result refused = {.outcome = OPTUNE_OUTCOME_COMPILE,
                                         .message = misuse.text};
        status = conclude(t, s, &refused, 0, err);
        t->arm[s->arm].exhausted = true;
        free(s);
        return status < 0 ? status : 1;
    }
    if (status < 0) {
        optune_fail(err, status, "%s", misuse.text);
        free(s);
        return status;
    }
    t->queue[t->n_queued++] = s;
    return 1;
}

/* What the finals of the workload will take, as far as can be told: every finalist is loaded and
 * verified again. */
static double reserve(const tuning *t)
{
    int n = 2; /* the default's fallback, a runner-up */
    if (t->tuned->trials < 2)
        return 0; /* another trial is worth more than finals of one */
    for (int i = 0; i < t->n_arms; i++)
        n += isfinite(t->arm[i].best);
    return fmin(t->finals_s + t->told_s + n * t->load_s, t->seconds * 0.4);
}

/* No more trials: but a workload's first one may take what is left of the whole run, and half
 * as much again, as a table without it says nothing. */
static bool is_over(const tuning *t)
{
    const double now = ot_now();
    const bool known = isfinite(t->run->progress.best);
    return now >= t->end - (known ? reserve(t) : 0) &&
           (t->tuned->trials > 0 || now >= t->run->last);
}

/* The oldest queued trial that is built, waiting for one; -1: there is none, and it is over. The
 * very first is the plevel default, which every table compares with. */
static int next_built(tuning *t)
{
    for (;;) {
        const int n = t->tuned->trials ? t->n_queued : 1;
        for (int i = 0; i < n; i++)
            if (t->queue[i]->job.done)
                return i;
        if (ot_context_stopped(t->run->o) || is_over(t))
            return -1;
        ot_builder_wait(t->run->builder, NULL, 0.1);
    }
}

static void note_load(tuning *t, const ot_trial_result *result)
{
    const double sampled = result->cost * (double)(result->inner * (result->n_samples + 1));
    if (result->outcome == OPTUNE_OUTCOME_OK)
        t->load_s = fmax(t->load_s, fmin(result->seconds - sampled, t->finals_s));
}

/* Runs one queued trial. */
static int measure(tuning *t, int at, optune_err *err)
{
    slot *s = t->queue[at];
    ot_arena arena = {0};
    ot_trial_result result = {.outcome = s->job.outcome, .message = s->job.message};
    int status = OPTUNE_OK;
    if (s->job.outcome == OPTUNE_OUTCOME_OK) {
        double best = INFINITY;
        for (int i = 0; i < t->n_arms; i++)
            best = fmin(best, t->arm[i].best);
        /* Each implementation's own best matters to its search and to the finals. */
        if (isfinite(t->arm[s->arm].best))
            best = fmax(best, t->arm[s->arm].best);
        const ot_trial trial = {.impl = t->arm[s->arm].impl,
                                .config = &s->config,
                                .job = &s->job,
                                .best = best,
                                .range = t->run->spot.range};
        status =
            ot_worker_trial(t->run->worker, &trial, t->run->o->policy, &arena, &result, err);
        note_load(t, &result);
    }
    if (status >= 0)
        status = conclude(t, s, &result, s->job.seconds + result.seconds, err);
    ot_arena_release(&arena);
    memmove(&t->queue[at], &t->queue[at + 1],
            (size_t)(--t->n_queued - at) * sizeof t->queue[0]);
    free(s);
    return status;
}

static int search(tuning *t, optune_err *err)
{
    int status = OPTUNE_OK;
    bool more = true;
    while (status >= 0) {
        const bool over = is_over(t);
        if (ot_context_stopped(t->run->o))
            return OPTUNE_EINTERRUPTED;
        while (more && !over && status >= 0 && t->n_queued < QUEUE &&
               t->tuned->trials + t->n_queued < t->run->trials) {
            status = enqueue(t, err);
            more = status != 0;
        }
        if (status < 0 || over || !t->n_queued)
            break;
        const int built = next_built(t);
        if (built >= 0)
            status = measure(t, built, err);
    }
    return status < 0 ? status : OPTUNE_OK;
}

static void forget_queue(tuning *t)
{
    for (int i = 0; i < t->n_queued; i++) {
        ot_builder_forget(t->run->builder, &t->queue[i]->job);
        free(t->queue[i]);
    }
    t->n_queued = 0;
}

static void close_tuning(tuning *t)
{
    forget_queue(t);
    for (int i = 0; i < t->n_arms; i++)
        ot_arm_close(&t->arm[i]);
    ot_text_release(&t->call);
    free(t->plan);
    free(t);
}

/* What is known of the workload, ready to be asked for trials; NULL: nothing computes it. */
static tuning *open_tuning(ot_run *run, int workload, double seconds, ot_tuned *tuned,
                           optune_err *err)
{
    tuning *t = ot_alloc(sizeof *t);
    t->run = run;
    t->workload = workload;
    t->task = (optune_task){&run->call[workload], &run->o->target, &run->o->device};
    t->tuned = tuned;
    t->plan = ot_alloc(sizeof *t->plan);
    t->seconds = seconds;
    t->start = ot_now();
    t->end = t->start + seconds;
    t->finals_s = fmin(3, seconds / 6); /* a sixth of the time, and at most three seconds */
    ot_call_print(run->spot.at ? run->spot.at : t->task.call, &t->call);
    if (open_arms(t, err) >= 0 && recall(t, err) >= 0)
        return t;
    close_tuning(t);
    return NULL;
}

/* From here on, progress is this workload's. */
static void enter(tuning *t)
{
    optune_progress *p = &t->run->progress;
    p->workload = t->workload + 1;
    p->workloads = t->run->n_workloads;
    p->call = ot_text_str(&t->call);
    p->trials = t->run->trials;
    p->flops = ot_call_flops(t->run->spot.at ? t->run->spot.at : t->task.call);
    p->impl = NULL;
    best_so_far(t);
    ot_run_report(t->run, "preparing", NULL);
}

static void leave(tuning *t)
{
    t->run->progress.call = t->run->progress.impl = t->run->progress.best_impl = NULL;
}

static int tell(tuning *t, optune_err *err)
{
    const double asked = ot_now();
    const int status =
        ot_worker_workload(t->run->worker, ot_text_str(&t->call), t->run->options->seed, err);
    t->told_s = ot_now() - asked;
    return status;
}

int ot_tune(ot_run *run, int workload, double seconds, ot_tuned *tuned, optune_err *err)
{
    optune_err own = {0};
    tuning *t = open_tuning(run, workload, seconds, tuned, &own);
    if (!t)
        return optune_fail(err, own.status, "%s", own.text);
    int status = OPTUNE_OK;
    enter(t);
    if (tuned->trials < run->trials && !is_over(t)) {
        status = tell(t, err);
        if (status >= 0)
            status = search(t, err);
    }
    forget_queue(t); /* nothing compiles beside the finals */
    /* One alone, when the time is over, has nobody to be compared with. */
    const bool alone = tuned->trials == 1 && ot_now() >= t->end;
    if (status >= 0 && isfinite(run->progress.best) && !alone)
        status = ot_finals(run, &t->task, t->arm, t->n_arms, t->finals_s, err);
    if (!isfinite(run->progress.best) && tuned->trials && !tuned->problem[0])
        snprintf(tuned->problem, sizeof tuned->problem,
                 "nothing measured: %d failed before; --again tries them once more",
                 tuned->trials);
    tuned->done = true;
    tuned->interrupted = status == OPTUNE_EINTERRUPTED;
    leave(t);
    close_tuning(t);
    return status;
}

/* One trial of one that has none yet. */
static int tune_first(tuning *t, optune_err *err)
{
    int status = OPTUNE_OK;
    enter(t);
    while (status >= 0 && t->n_queued && !t->queue[0]->job.done && !is_over(t) &&
           !ot_context_stopped(t->run->o))
        ot_builder_wait(t->run->builder, &t->queue[0]->job, 0.1);
    if (ot_context_stopped(t->run->o))
        status = OPTUNE_EINTERRUPTED;
    else if (t->n_queued && t->queue[0]->job.done) {
        status = tell(t, err);
        if (status >= 0)
            status = measure(t, 0, err);
    }
    leave(t);
    return status;
}

int ot_tune_first(ot_run *run, int from, ot_tuned *tuned, optune_err *err)
{
    const int n = run->n_workloads - from;
    tuning **all = ot_alloc((size_t)n * sizeof *all);
    int status = OPTUNE_OK;
    for (int i = 0; i < n && status >= 0; i++) {
        all[i] = open_tuning(run, from + i, 0, &tuned[from + i], NULL);
        if (all[i] && !tuned[from + i].trials)
            status = enqueue(all[i], err);
    }
    for (int i = 0; i < n && status >= 0; i++) {
        if (all[i])
            status = tune_first(all[i], err);
        if (status == OPTUNE_ENOMEM)
            status = OPTUNE_OK; /* the search proper says so */
    }
    for (int i = 0; i < n; i++) {
        if (all[i])
            close_tuning(all[i]);
        /* What it found is stored: the search proper recalls it. */
        ot_tuned *t = &tuned[from + i];
        memset(t->failures, 0, sizeof t->failures);
        t->trials = 0;
        t->space = 0;
    }
    free(all);
    return status < 0 ? status : OPTUNE_OK;
}
