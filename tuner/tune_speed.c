/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial on a machine of several speeds: what its config costs is told as at the speed of the
 * workload's first trial, and it is measured once more where the speed changed meanwhile, or where
 * it was left early as one that cannot win, by the word of another speed.
 */
#include <math.h>
#include <stdlib.h>

#include "tuner/tuning.h"

enum { TRIES = 3 };
/* Of the workload's time until now, and seconds, to find out what speeds do. */
static const double OF_ALL = 0.1, AT_FIRST_S = 1;
static const double FAR = 2; /* times the best: it loses at any speed */

typedef struct again {
    ot_tuning *t;
    ot_arena *arena;
} again;

/* The best config that was found, whose modules are there. */
static bool measure_known(void *arg, double *cost, double *pace)
{
    const again *a = arg;
    ot_tuning *t = a->t;
    ot_known_trial *k = &t->tuned->known;
    ot_trial_result result = {.outcome = OPTUNE_OUTCOME_OK};
    optune_err err = {0};
    const double began = ot_now();
    const ot_trial trial = {.impl = k->impl,
                            .config = &k->config,
                            .job = &k->job,
                            .best = INFINITY,
                            .range = t->run->spot.range};
    const bool measured =
        ot_plan_make(&t->task, k->impl, &k->config, t->plan, &err) >= 0 &&
        ot_builder_renew(t->run->builder, &t->task, t->plan, &k->job, &err) >= 0 &&
        k->job.status >= 0 && ot_watched_trial(t->run, &trial, a->arena, &result, &err) >= 0 &&
        result.outcome == OPTUNE_OUTCOME_OK;
    *cost = result.cost;
    *pace = measured ? ot_speed_take(a->arena, &result) : 0;
    t->again_s += ot_now() - began;
    return measured;
}

static bool has_time(const ot_tuning *t)
{
    const double each = t->n_good ? t->trials_s / t->n_good : 0;
    return t->again_s + each <= OF_ALL * (ot_now() - t->start) + AT_FIRST_S &&
           !ot_tuning_is_over(t);
}

void ot_tuning_know(ot_tuning *t, const ot_slot *s, double cost)
{
    ot_known_trial *k = &t->tuned->known;
    if (!k->impl || cost < k->cost)
        *k = (ot_known_trial){t->arm[s->arm].impl, s->config, s->job, cost};
}

int ot_tuning_trial(ot_tuning *t, const ot_trial *trial, ot_arena *arena,
                    ot_trial_result *result, double *times, optune_err *err)
{
    again a = {t, arena};
    ot_speeds *speeds = &t->tuned->speeds;
    const ot_known_trial *known = &t->tuned->known;
    double seconds = 0, pace = 0;
    *times = 1;
    for (int tries = 1;; tries++) {
        const double expected = speeds->times > 0 ? speeds->times : 1, began = ot_now();
        ot_trial at = *trial;
        ot_trial_result one = *result;
        at.best *= expected;
        const int status = ot_watched_trial(t->run, &at, arena, &one, err);
        if (tries > 1 && ot_run_is_late(t->run, status))
            break; /* what was found before stands */
        OT_RETURN_UNLESS_OK(status);
        seconds += one.seconds;
        t->again_s += tries > 1 ? ot_now() - began : 0;
        pace = ot_speed_take(arena, &one);
        if (tries > 1 && (one.outcome != OPTUNE_OUTCOME_OK || !(pace > 0)))
            break;
        *result = one;
        if (result->outcome != OPTUNE_OUTCOME_OK || !(pace > 0))
            return OPTUNE_OK;
        const bool asks =
            known->impl && result->cost < FAR * expected * trial->best && has_time(t);
        *times = ot_speeds_at(speeds, pace, asks ? known->cost : INFINITY, measure_known, &a);
        const bool hasty = *times > expected && result->cost < *times * trial->best &&
                           result->n_samples < t->run->policy.min_samples;
        if (tries == TRIES || (*times > 0 && !hasty) || !has_time(t))
            break;
    }
    if (!(*times > 0)) { /* it is the config's own pace, or one that nothing lasts at */
        *times = speeds->times > 0 ? speeds->times : 1;
        ot_speeds_settle(speeds, pace);
    }
    result->seconds = seconds;
    ot_speed_note(*times, arena, result);
    return OPTUNE_OK;
}
