/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who gets the next trial. Implementations of one workload share its budget in proportion to
 * what they promise: the weight of each grows steeply with how near the best of all is what its
 * search still hopes for, or what it found, and never reaches zero, so none is starved. While the
 * leader finds nothing better, the others' least share grows: what more of it would bring is known,
 * what more of them would is not. Where time ends a run, time is what is shared, so that
 * who compiles for long has fewer trials. Deterministic: the same costs and times give the same
 * order. And who gets how much of a time that several share.
 */
#include "tuner/tune.h"

#include <math.h>

enum { FIRST_TRIALS = 2 }; /* of each, before promises count */
static const double LEAST = 0.02,
                    LEAST_STALE = 0.15; /* weight of any; and of a stale leader's */
static const double MOST_PROMISE = 1.2; /* models are not believed more */
static const double EQUALLY = 0.3;      /* of the time goes to all alike, the rest by weight */

/* Which first trials say most: the plevel default among what may be selected, which every table
 * compares with, then the libraries, then all others. */
static double rank(const ot_arm *arm, int n, int i)
{
    const ot_candidate *c = arm[i].candidate;
    if (!c)
        return 0;
    if (arm[i].waits)
        return -1e5;
    bool is_default = c->refusal == OT_VALID;
    for (int k = 0; k < n && is_default; k++)
        is_default = k == i || !arm[k].candidate || arm[k].candidate->refusal != OT_VALID ||
                     arm[k].candidate->plevel < c->plevel ||
                     (arm[k].candidate->plevel == c->plevel && k > i);
    return c->plevel + (is_default ? 2e5 : c->impl->library ? 1e5 : 0);
}

/* The share of the leader's trials since it was better than all others, or than itself. */
static double stale(const ot_arm *arm, int n, double best)
{
    for (int i = 0; i < n; i++)
        if (arm[i].best <= best && arm[i].trials > 0)
            return (double)arm[i].since / arm[i].trials;
    return 0;
}

static double weight(const ot_arm *arm, double best, double any)
{
    if (!isfinite(best))
        return 1;
    const double hoped = arm->hoped > 0 ? fmin(arm->best, arm->hoped) : arm->best;
    const double promise = isfinite(hoped) ? fmin(MOST_PROMISE, best / hoped) : 0;
    return pow(promise, 4) + any;
}

/* Seconds of one of its trials; what is not known is as with the others. */
static double trial_takes(const ot_arm *arm, int n, int i)
{
    double seconds = arm[i].seconds;
    int timed = arm[i].timed;
    for (int k = 0; k < n && !arm[i].timed; k++) {
        seconds += arm[k].seconds;
        timed += arm[k].timed;
    }
    return timed && seconds > 0 ? seconds / timed : 1;
}

/* One trial says what it takes; more of them would take those of who can be chosen. */
static bool has_said(const ot_arm *arm, int n, int i)
{
    bool alone = true;
    for (int k = 0; k < n; k++)
        alone = alone && (arm[k].waits || arm[k].exhausted);
    return arm[i].waits && !alone && arm[i].trials + arm[i].pending > 0;
}

int ot_budget_next(const ot_arm *arm, int n, bool of_time)
{
    double best = INFINITY;
    for (int i = 0; i < n; i++)
        best = fmin(best, arm[i].best);
    const double any = LEAST + LEAST_STALE * stale(arm, n, best);
    int next = -1;
    double least = INFINITY;
    for (int i = 0; i < n; i++) {
        if (arm[i].exhausted || has_said(arm, n, i))
            continue;
        const int taken = arm[i].trials + arm[i].pending;
        /* First rounds by rank, so that a run cut short has an answer and what to compare it
         * with; then stride scheduling: the smallest share so far. */
        const double share =
            taken < FIRST_TRIALS
                ? -1e9 + taken * 1e6 - rank(arm, n, i)
                : taken * (of_time ? trial_takes(arm, n, i) : 1) / weight(&arm[i], best, any);
        if (share < least) {
            least = share;
            next = i;
        }
    }
    return next;
}

double ot_shares_next(ot_shares *shares, double weight, double left)
{
    const double all = fmax(0, 1 - shares->taken);
    const double part =
        EQUALLY / shares->n +
        (1 - EQUALLY) * (shares->weights > 0 ? weight / shares->weights : 1.0 / shares->n);
    shares->taken += part;
    return fmax(0, left) * fmin(1, part / fmax(all, part));
}
