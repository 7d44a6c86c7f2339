/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search over one workload: what is known, then arms -> configs -> plans -> modules ->
 * trials -> records, until its budget, its time, its spaces or the user's patience ends. Compiling
 * runs ahead of measuring through a short queue; what is built first is measured first, so that a
 * compiler that takes long holds up nobody.
 */
#include <math.h>
#include <string.h>

#include "tuner/transfer.h"
#include "tuner/tuning.h"

enum { AHEAD = 2 }; /* candidates that compile before the worker knows the workload */

static ot_arm *arm_of(ot_tuning *t, const char *impl)
{
    for (int i = 0; i < t->n_arms; i++)
        if (!strcmp(t->arm[i].impl->name, impl))
            return &t->arm[i];
    return NULL;
}

static void count(ot_tuning *t, int outcome)
{
    t->tuned->trials++;
    if (outcome != OPTUNE_OUTCOME_OK && outcome < (int)OT_COUNT(t->tuned->failures))
        t->tuned->failures[outcome]++;
}

/* What the config costs now: where its finals say that it moved from one to the next, a trial in
 * front of them is no longer true. (A trial and the final of its own run differ by noise.) */
static double cost_now(const optune_record *r, const ot_fact *fact, int n)
{
    const optune_record *newest = NULL, *before = NULL;
    if (r->outcome != OPTUNE_OUTCOME_OK)
        return r->cost;
    for (int i = 0; i < n; i++) {
        const optune_record *f = &fact[i].record;
        if (!f->final || f->outcome != OPTUNE_OUTCOME_OK || strcmp(f->impl, r->impl) ||
            !ot_config_equal(&f->config, &r->config))
            continue;
        if (!newest || f->time > newest->time) {
            before = newest;
            newest = f;
        } else if (!before || f->time > before->time) {
            before = f;
        }
    }
    return before && newest->time > r->time && ot_record_moved(before, newest) != 1
               ? newest->cost
               : ot_speed_even(r);
}

/* Current records count as done; stale ones and other devices' are tried first. */
static int recall(ot_tuning *t, optune_err *err)
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
        const optune_told told = {
            .cost = cost_now(r, fact, n), .outcome = r->outcome, .seconds = r->all_cost};
        if (ot_arm_know(arm, &r->config, &told))
            count(t, r->outcome);
    }
    ot_arena_release(&arena);
    const ot_tuning_spot *spot = &t->run->spot;
    for (int i = 0; i < spot->n_hints; i++)
        if (arm_of(t, spot->hint[i]->name))
            ot_arm_hint(arm_of(t, spot->hint[i]->name), spot->hint_config[i]);
    const char *policy = spot->policy ? spot->policy : t->run->policy.name;
    for (int i = 0; i < t->n_arms && t->run->transfer; i++) {
        ot_arm *arm = &t->arm[i];
        arm->view.n_sources =
            ot_transfer_sources(t->run->transfer, &t->task, policy, arm, &arm->source);
        arm->view.source = arm->source;
    }
    return status;
}

static void best_so_far(ot_tuning *t)
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

/* Writes one outcome down and tells everybody: its cost as at the first trial's speed. */
static int conclude(ot_tuning *t, ot_slot *s, const ot_trial_result *result, double times,
                    double seconds, optune_err *err)
{
    ot_arm *arm = &t->arm[s->arm];
    const bool ok = result->outcome == OPTUNE_OUTCOME_OK;
    const ot_contender who = {.task = &t->task,
                              .impl = arm->impl,
                              .config = &s->config,
                              .at = t->run->spot.at,
                              .policy = t->run->spot.policy};
    const int status = ot_record_trial(t->run, &who, result, seconds, false, err);
    const optune_told told = {.cost = ok ? result->cost / times : INFINITY,
                              .outcome = result->outcome,
                              .seconds = seconds};
    if (ok)
        ot_tuning_know(t, s, told.cost);
    ot_arm_tell(arm, &s->config, &told);
    count(t, result->outcome);
    t->run->begun += !t->tuned->new_trials;
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

/* How many more trials there are to be: those that are left, or as many as there is time for. */
static double left_for_all(const ot_tuning *t, bool *of_time)
{
    const double now = ot_now(), each = (now - t->start) / fmax(1, t->tuned->new_trials);
    const double left = t->run->trials - (t->tuned->trials + t->n_queued);
    const double timed = t->tuned->new_trials ? (t->end - now) / each : INFINITY;
    *of_time = timed < left;
    return fmin(left, timed);
}

/* How many more trials an arm can expect: its part so far of what trials and time leave. */
static double left_for(const ot_tuning *t, const ot_arm *arm, double all)
{
    const int out = t->tuned->trials + t->n_queued;
    return fmax(1, all * (arm->trials + arm->pending + 1) / (out + t->n_arms));
}

int ot_tuning_enqueue(ot_tuning *t, optune_err *err)
{
    ot_slot *s = ot_alloc(sizeof *s);
    for (;;) {
        bool of_time;
        const double left = left_for_all(t, &of_time);
        s->arm = ot_budget_next(t->arm, t->n_arms, of_time);
        if (s->arm < 0) {
            free(s);
            return 0;
        }
        t->arm[s->arm].view.left = left_for(t, &t->arm[s->arm], left);
        if (ot_arm_next(&t->arm[s->arm], &s->config))
            break;
        if (t->arm[s->arm].slip[0])
            ot_context_log(t->run->o, OPTUNE_LOG_WARNING, "%s", t->arm[s->arm].slip);
    }
    optune_err misuse = {0};
    int status = ot_plan_make(&t->task, t->arm[s->arm].impl, &s->config, t->plan, &misuse);
    if (status >= 0)
        status = ot_room_scratch(t->run, t->plan, &misuse);
    if (status < 0) {
        const ot_trial_result refused = {.outcome = OPTUNE_OUTCOME_INSTANTIATION,
                                         .message = misuse.text};
        status = conclude(t, s, &refused, 1, 0, err);
        free(s);
        return status < 0 ? status : 1;
    }
    status = ot_builder_submit(t->run->builder, &t->task, t->plan, &s->job, &misuse);
    if (status == OPTUNE_ETOOL && t->arm[s->arm].impl->library) {
        /* Bodies that call libraries may take another compiler than all others: theirs is
         * missing, whatever the config. */
        const ot_trial_result refused = {.outcome = OPTUNE_OUTCOME_COMPILE,
                                         .message = misuse.text};
        status = conclude(t, s, &refused, 1, 0, err);
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

/* The oldest queued trial that is built, waiting for one; -1: there is none, and it is over. The
 * very first is the plevel default, which every table compares with. */
static int next_built(ot_tuning *t)
{
    for (;;) {
        const int n = t->tuned->trials ? t->n_queued : 1;
        for (int i = 0; i < n; i++)
            if (t->queue[i]->job.done)
                return i;
        if (ot_context_stopped(t->run->o) || ot_tuning_is_over(t))
            return -1;
        ot_builder_wait(t->run->builder, NULL, 0.1);
    }
}

int ot_tuning_measure(ot_tuning *t, int at, optune_err *err)
{
    ot_slot *s = t->queue[at];
    ot_arena arena = {0};
    int status = OPTUNE_OK;
    /* What the system refused to a compiler, it may grant now. */
    if (s->job.status < 0 || s->job.outcome == OPTUNE_OUTCOME_OK) {
        status = ot_plan_make(&t->task, t->arm[s->arm].impl, &s->config, t->plan, err);
        if (status >= 0)
            status = ot_builder_renew(t->run->builder, &t->task, t->plan, &s->job, err);
        if (status >= 0 && s->job.status < 0)
            status = optune_fail(err, s->job.status, "cannot compile: %.900s", s->job.message);
    }
    ot_trial_result result = {.outcome = s->job.outcome, .message = s->job.message};
    double times = 1;
    if (status >= 0 && s->job.outcome == OPTUNE_OUTCOME_OK) {
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
        ot_tuning_limit(t);
        status = ot_tuning_trial(t, &trial, &arena, &result, &times, err);
        if (ot_run_is_late(t->run, status)) {
            ot_arena_release(&arena);
            return status; /* nothing was found out: it stays in the queue */
        }
        ot_tuning_note(t, s->arm, &result);
    }
    if (status >= 0)
        status = conclude(t, s, &result, times, s->job.seconds + result.seconds, err);
    ot_arena_release(&arena);
    memmove(&t->queue[at], &t->queue[at + 1],
            (size_t)(--t->n_queued - at) * sizeof t->queue[0]);
    free(s);
    return status;
}

/* Compiling runs ahead by at most this many. */
static int fill_queue(ot_tuning *t, int most, optune_err *err)
{
    int status = 1;
    while (status > 0 && t->n_queued < most && t->tuned->trials + t->n_queued < t->run->trials)
        status = ot_tuning_enqueue(t, err);
    return status < 0 ? status : OPTUNE_OK;
}

static int search(ot_tuning *t, optune_err *err)
{
    int status = OPTUNE_OK;
    while (status >= 0) {
        const bool over = ot_tuning_is_over(t);
        if (ot_context_stopped(t->run->o))
            return OPTUNE_EINTERRUPTED;
        if (!over)
            status = fill_queue(t, ot_queue_depth(0), err);
        if (status < 0 || over || !t->n_queued)
            break;
        const int built = next_built(t);
        if (built >= 0)
            status = ot_tuning_measure(t, built, err);
        if (ot_run_is_late(t->run, status))
            return OPTUNE_OK;
    }
    return status < 0 ? status : OPTUNE_OK;
}

static void forget_queue(ot_tuning *t)
{
    for (int i = 0; i < t->n_queued; i++) {
        ot_builder_forget(t->run->builder, &t->queue[i]->job);
        free(t->queue[i]);
    }
    t->n_queued = 0;
}

void ot_tuning_close(ot_tuning *t)
{
    t->run->until = 0;
    forget_queue(t);
    for (int i = 0; i < t->n_arms; i++)
        ot_arm_close(&t->arm[i]);
    ot_text_release(&t->call);
    free(t->plan);
    free(t);
}

ot_tuning *ot_tuning_open(ot_run *run, int workload, double seconds, ot_tuned *tuned,
                          optune_err *err)
{
    ot_tuning *t = ot_alloc(sizeof *t);
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
    if (ot_tuning_open_arms(t, err) >= 0 && recall(t, err) >= 0)
        return t;
    ot_tuning_close(t);
    return NULL;
}

void ot_tuning_enter(ot_tuning *t)
{
    optune_progress *p = &t->run->progress;
    p->workload = t->workload + 1;
    p->workloads = t->run->n_workloads;
    p->call = ot_text_str(&t->call);
    p->trials = t->run->trials;
    p->flops = ot_call_flops(t->run->spot.at ? t->run->spot.at : t->task.call);
    p->unitless = t->task.call->op->unitless;
    p->impl = NULL;
    best_so_far(t);
    ot_run_report(t->run, "preparing", NULL);
}

void ot_tuning_leave(ot_tuning *t)
{
    t->run->progress.call = t->run->progress.impl = t->run->progress.best_impl = NULL;
}

/* What is right is not said of all of its outputs. */
static void say_unwritten(ot_tuning *t, const optune_call *call)
{
    int64_t all = 0;
    for (int i = 0; i < call->n_outputs; i++) {
        const int64_t left = ot_worker_left(t->run->worker, i);
        all += left;
        if (left && !t->tuned->unasked)
            ot_context_log(t->run->o, OPTUNE_LOG_WARNING,
                           "'%s' writes nothing to %lld of the %lld elements of output %d: "
                           "nothing says what is right there, and a config is right if it "
                           "leaves them, too",
                           call->op->standard, (long long)left,
                           (long long)optune_tensor_elements(&call->output[i]), i);
    }
    t->tuned->unasked = 1 + all;
}

int ot_tuning_tell(ot_tuning *t, optune_err *err)
{
    const optune_call *call = t->run->spot.at ? t->run->spot.at : t->task.call;
    const double asked = ot_now();
    ot_tuning_limit(t);
    int status = ot_room_check(t->run, call, err);
    if (status >= 0)
        status = ot_worker_workload(t->run->worker, ot_text_str(&t->call),
                                    t->run->options->seed, err);
    t->run->held = status < 0 ? 0 : ot_room_held(call, &t->run->o->device);
    if (status >= 0 && call->op->standard)
        say_unwritten(t, call);
    t->told_s = ot_now() - asked;
    return status;
}

/* Every implementation was asked for a config, and none has one that is valid here. */
static bool say_all_refused(const ot_tuning *t)
{
    const ot_arm *refused = NULL;
    for (int i = 0; i < t->n_arms; i++) {
        if (!t->arm[i].exhausted)
            return false;
        refused = refused || t->arm[i].has_fallback ? refused : &t->arm[i];
    }
    if (refused)
        snprintf(t->tuned->problem, sizeof t->tuned->problem,
                 "none of its configs can be run here; %s, for one: %.160s",
                 refused->impl->name, refused->fallback_why);
    return refused != NULL;
}

void ot_tuning_say_unfinished(const ot_tuning *t)
{
    const ot_run *run = t->run;
    const double now = ot_now(), spent = now - t->start;
    const double before = run->begun ? 0 : t->start - run->started;
    char doing[OPTUNE_WHY_SIZE];
    if (!t->n_queued && say_all_refused(t))
        return;
    if (t->run->waited_s > spent / 2)
        snprintf(doing, sizeof doing, "other runs measured on this device for %.0f s",
                 t->run->waited_s);
    else if (!t->n_queued && before > spent)
        snprintf(doing, sizeof doing, "getting started took %.1f s", before);
    else if (!t->n_queued)
        snprintf(doing, sizeof doing, "its turn did not come");
    else if (!t->queue[0]->job.done)
        snprintf(doing, sizeof doing, "%s was still compiling after %.1f s",
                 t->arm[t->queue[0]->arm].impl->name, spent);
    else
        snprintf(doing, sizeof doing, "%s was not measured to its end after %.1f s",
                 t->arm[t->queue[0]->arm].impl->name, spent);
    snprintf(t->tuned->problem, sizeof t->tuned->problem,
             "nothing measured within the limits: %s; --time %.0f would do", doing,
             ot_tuning_enough(t, now));
}

/* Whatever says what is right had not ended: a candidate's time is not to blame. */
static void say_untold(const ot_tuning *t)
{
    const char *standard = t->task.call->op->standard;
    snprintf(t->tuned->problem, sizeof t->tuned->problem,
             "nothing measured within the limits: %s, which says what is right, did not end "
             "within %.1f s; a longer --time lets it",
             standard ? standard : "the reference", ot_now() - t->start);
}

int ot_tune(ot_run *run, int workload, double seconds, ot_tuned *tuned, optune_err *err)
{
    optune_err own = {0};
    ot_tuning *t = ot_tuning_open(run, workload, seconds, tuned, &own);
    if (!t)
        return optune_fail(err, own.status, "%s", own.text);
    int status = OPTUNE_OK;
    ot_tuning_enter(t);
    if (tuned->trials < run->trials && !ot_tuning_is_over(t)) {
        /* The first candidates compile while the reference is computed. */
        status = ot_room_check(run, run->spot.at ? run->spot.at : t->task.call, err);
        if (status >= 0)
            status = fill_queue(t, AHEAD, err);
        if (status >= 0)
            status = ot_tuning_tell(t, err);
        if (ot_run_is_late(run, status)) {
            status = OPTUNE_OK;
            if (!tuned->trials)
                say_untold(t);
        } else if (status >= 0) {
            status = search(t, err);
        }
    }
    if (status >= 0 && !tuned->trials && !tuned->problem[0])
        ot_tuning_say_unfinished(t);
    forget_queue(t); /* nothing compiles beside the finals */
    const int most = status >= 0 ? ot_tuning_finalists(t) : 0;
    if (most) {
        ot_tuning_limit(t);
        status = ot_finals(run, &t->task, t->arm, t->n_arms, most, t->finals_s, err);
        if (ot_run_is_late(run, status)) {
            ot_context_log(run->o, OPTUNE_LOG_INFO, "%s: its finals took longer than its time",
                           ot_text_str(&t->call));
            status = OPTUNE_OK;
        }
    }
    if (!isfinite(run->progress.best) && tuned->trials && !tuned->problem[0])
        snprintf(tuned->problem, sizeof tuned->problem,
                 "nothing measured: %d failed before; --again tries them once more",
                 tuned->trials);
    tuned->done = true;
    tuned->interrupted = status == OPTUNE_EINTERRUPTED;
    ot_tuning_leave(t);
    ot_tuning_close(t);
    return status;
}
