/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether there is time for what comes next of a workload: another trial, the finals. Where a trial
 * takes seconds, as of tensors of gigabytes, one that is begun in time may end far behind it, so
 * what trials took until now decides.
 *
 * The one idea: what one trial took says little, as a library's first one brings the library to the
 * device and the machine may have been busy: an arm takes the least that its trials took, and one
 * that was tried once no more than others do.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "tuner/tuning.h"

/* By which a workload may end later: of its time, and seconds. */
static const double LATE = 0.1, LATE_S = 0.5;
static const double FINALS = 0.4; /* of its time that finals may take at most */

void ot_tuning_note(ot_tuning *t, int arm, const ot_trial_result *result)
{
    if (result->outcome != OPTUNE_OUTCOME_OK)
        return;
    const double sampled = result->cost * (double)(result->inner * (result->n_samples + 1));
    const double load = fmax(0, result->seconds - sampled);
    t->load_s[arm] = t->n_timed[arm]++ ? fmin(t->load_s[arm], load) : load;
    t->trials_s += result->seconds;
    t->n_good++;
}

typedef struct pace { /* of a finalist, in seconds */
    double cost, load;
} pace;

static int by_cost(const void *a, const void *b)
{
    const double x = ((const pace *)a)->cost, y = ((const pace *)b)->cost;
    return (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of what arms take beside their samples; 0: none was tried. */
static double usual_load(const ot_tuning *t)
{
    double load[OT_MAX_CANDIDATES];
    int n = 0;
    for (int i = 0; i < t->n_arms; i++)
        if (t->n_timed[i])
            load[n++] = t->load_s[i];
    qsort(load, (size_t)n, sizeof *load, by_number);
    return n ? load[n / 2] : 0;
}

/* Who may be in the finals, the fastest first; then the default's fallback and a runner-up. */
static int finalists(const ot_tuning *t, pace who[OT_MAX_CANDIDATES + 2])
{
    const double usual = usual_load(t);
    int n = 0;
    for (int i = 0; i < t->n_arms; i++) {
        const double own = t->n_timed[i] ? t->load_s[i] : usual;
        if (isfinite(t->arm[i].best))
            who[n++] = (pace){t->arm[i].best, t->n_timed[i] > 1 ? own : fmin(own, usual)};
    }
    qsort(who, (size_t)n, sizeof *who, by_cost);
    who[n++] = (pace){0, usual};
    who[n++] = (pace){0, usual};
    return n < t->tuned->trials ? n : t->tuned->trials; /* whoever was not tried is not there */
}

/* What finals of the first n take, as far as can be told: every finalist is loaded and verified
 * again, on inputs of another seed. */
static double finals_take(const ot_tuning *t, const pace *who, int n)
{
    double runs = 0, load = 0;
    for (int i = 0; i < n; i++) {
        runs += OT_FINAL_RUNS * who[i].cost;
        load += who[i].load;
    }
    return fmax(t->finals_s, runs) + t->told_s + load;
}

/* How many of the n have finals within so many seconds; one alone has nobody to be compared with,
 * unless there is no other. */
static int fitting(const ot_tuning *t, const pace *who, int n, double seconds)
{
    const int least = n < 2 ? n : 2;
    while (n > 0 && finals_take(t, who, n) > seconds)
        n--;
    return n < least ? 0 : n;
}

static double late(const ot_tuning *t)
{
    return LATE * t->seconds + LATE_S;
}

/* Nothing is kept for finals that will not be, as one trial more is worth more. */
static double reserve(const ot_tuning *t, double left)
{
    pace who[OT_MAX_CANDIDATES + 2];
    const double most = t->seconds * FINALS;
    const int n = finalists(t, who), n_most = fitting(t, who, n, most + late(t));
    if (n < 2 || !fitting(t, who, n, fmin(left, most) + late(t)))
        return 0;
    return fmin(finals_take(t, who, n_most), most);
}

/* Of what took this long, and half as much again. */
double ot_tuning_enough(const ot_tuning *t, double now)
{
    const ot_run *run = t->run;
    const double all = now - run->started, own = now - t->start + 1;
    if (!run->begun)
        return ceil(1.5 * (t->start - run->started + own * run->n_workloads));
    /* The others compiled beside this one: of them each takes what first trials did until now. */
    const double each = all / run->begun;
    return ceil(1.5 * (each * (run->n_workloads - 1) + fmax(each, own)));
}

static double first_may_last(const ot_run *run)
{
    return run->new_trials ? run->last : run->first_last;
}

void ot_tuning_limit(ot_tuning *t)
{
    ot_run *run = t->run;
    const double end = fmax(t->end, isfinite(run->end) ? run->end : 0) + late(t);
    run->until = isfinite(run->progress.best) ? end : fmax(end, first_may_last(run));
}

bool ot_tuning_is_over(const ot_tuning *t)
{
    const double now = ot_now();
    const bool known = isfinite(t->run->progress.best);
    const double trial = t->n_good ? t->trials_s / t->n_good : 0;
    const bool ends = now >= t->end - (known ? reserve(t, t->end - now) : 0) ||
                      (known && now + trial > t->end + late(t));
    return ends && (t->tuned->trials > 0 || now >= first_may_last(t->run));
}

int ot_tuning_finalists(const ot_tuning *t)
{
    const double now = ot_now();
    const double end = fmax(t->end, isfinite(t->run->end) ? t->run->end : 0);
    pace who[OT_MAX_CANDIDATES + 2];
    /* One alone, when its share is over, has nobody to be compared with. */
    if (!isfinite(t->run->progress.best) || now >= end ||
        (t->tuned->trials == 1 && now >= t->end))
        return 0;
    const int n = finalists(t, who), fits = fitting(t, who, n, end + late(t) - now);
    return fits == n && n > 0 ? INT_MAX : fits;
}
