/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether there is time for what comes next of a workload: another trial, the finals. Where a trial
 * takes seconds, as of tensors of gigabytes, one that is begun in time may end far behind it, so
 * what trials took until now decides.
 */
#include <math.h>

#include "tuner/tuning.h"

/* By which a workload may end later: of its time, and seconds. */
static const double LATE = 0.1, LATE_S = 0.5;
static const double FINALS = 0.4; /* of its time that finals may take at most */

void ot_tuning_note(ot_tuning *t, const ot_trial_result *result)
{
    if (result->outcome != OPTUNE_OUTCOME_OK)
        return;
    const double sampled = result->cost * (double)(result->inner * (result->n_samples + 1));
    t->load_s = fmax(t->load_s, result->seconds - sampled);
    t->trials_s += result->seconds;
    t->n_good++;
}

/* What the finals of the workload will take, as far as can be told: every finalist is loaded and
 * verified again, on inputs of another seed. */
static double finals_take(const ot_tuning *t)
{
    int n = 2; /* the default's fallback, a runner-up */
    double runs = 0;
    for (int i = 0; i < t->n_arms; i++) {
        n += isfinite(t->arm[i].best);
        runs += isfinite(t->arm[i].best) ? OT_FINAL_RUNS * t->arm[i].best : 0;
    }
    if (n > t->tuned->trials)
        n = t->tuned->trials; /* whoever was not tried is not there */
    return fmax(t->finals_s, runs) + t->told_s + n * t->load_s;
}

static double late(const ot_tuning *t)
{
    return LATE * t->seconds + LATE_S;
}

static double reserve(const ot_tuning *t)
{
    if (t->tuned->trials < 2)
        return 0; /* another trial is worth more than finals of one */
    return fmin(finals_take(t), t->seconds * FINALS);
}

bool ot_tuning_is_over(const ot_tuning *t)
{
    const double now = ot_now();
    const bool known = isfinite(t->run->progress.best);
    const double trial = t->n_good ? t->trials_s / t->n_good : 0;
    const bool ends =
        now >= t->end - (known ? reserve(t) : 0) || (known && now + trial > t->end + late(t));
    return ends && (t->tuned->trials > 0 ||
                    now >= (t->run->new_trials ? t->run->last : t->run->first_last));
}

bool ot_tuning_has_finals(const ot_tuning *t)
{
    const double now = ot_now();
    const double end = fmax(t->end, isfinite(t->run->end) ? t->run->end : 0);
    /* One alone, when its share is over, has nobody to be compared with. */
    return isfinite(t->run->progress.best) && now < end &&
           now + finals_take(t) <= end + late(t) && !(t->tuned->trials == 1 && now >= t->end);
}
