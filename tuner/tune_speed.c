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
    ot_slot *s = t->known;
    ot_trial_result result = {.outcome = OPTUNE_OUTCOME_OK};
    optune_err err = {0};
    const double began = ot_now();
    const ot_trial trial = {.impl = t->arm[s->arm].impl,
                            .config = &s->config,
                            .job = &s->job,
                            .best = INFINITY,
                            .range = t->run->spot.range};
    const bool measured =
        ot_plan_make(&t->task, trial.impl, &s->config, t->plan, &err) >= 0 &&
        ot_builder_renew(t->run->builder, &t->task, t->plan, &s->job, &err) >= 0 &&
        s->job.status >= 0 && ot_watched_trial(t->run, &trial, a->arena, &result, &err) >= 0 &&
        result.outcome == OPTUNE_OUTCOME_OK;
    *cost = result.cost;
    *pace = measured ? ot_speed_take(a->arena, &result) : 0;
    t->known_s += ot_now() - began;
    return measured;
}

static bool has_time(const ot_tuning *t)
{
    const double each = t->n_good ? t->trials_s / t->n_good : 0;
    return t->known_s + each <= OF_ALL * (ot_now() - t->start) + AT_FIRST_S &&
           !ot_tuning_is_over(t);
}

void ot_tuning_know(ot_tuning *t, const ot_slot *s, double cost)
{
    if (t->known && cost >= t->known_cost)
        return;
    t->known = t->known ? t->known : ot_alloc(sizeof *t->known);
    *t->known = *s;
    t->known_cost = cost;
}

int ot_tuning_trial(ot_tuning *t, const ot_trial *trial, ot_arena *arena,
                    ot_trial_result *result, double *times, optune_err *err)
{
    again a = {t, arena};
    double seconds = 0;
    *times = 1;
    for (int tries = 1;; tries++) {
        const double expected = t->speeds.times > 0 ? t->speeds.times : 1;
        ot_trial at = *trial;
        at.best *= expected;
        OT_RETURN_UNLESS_OK(ot_watched_trial(t->run, &at, arena, result, err));
        seconds += result->seconds;
        result->seconds = seconds;
        const double pace = ot_speed_take(arena, result);
        if (result->outcome != OPTUNE_OUTCOME_OK || !(pace > 0))
            return OPTUNE_OK;
        const bool asks =
            t->known && result->cost < FAR * expected * trial->best && has_time(t);
        *times =
            ot_speeds_at(&t->speeds, pace, asks ? t->known_cost : INFINITY, measure_known, &a);
        const bool hasty = *times > expected && result->cost < *times * trial->best &&
                           result->n_samples < t->run->policy.min_samples;
        if (tries == TRIES || (*times > 0 && !hasty) || !has_time(t))
            break;
    }
    *times = *times > 0 ? *times : t->speeds.times;
    ot_speed_note(*times, arena, result);
    return OPTUNE_OK;
}
