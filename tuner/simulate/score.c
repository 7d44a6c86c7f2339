/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The score, step by step as published: the time axis and random search from the recorded costs
 * alone, the search's curve by isotonic regression of ranks over the points of all runs.
 */
#include "tuner/simulate/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AXIS_FROM 0.01
#define AXIS_TO 0.95
#define BUDGET 1.1 /* of the axis */

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static double middle(const double *sorted, int n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* ---- random search ------------------------------------------------------------------------- */

/* Trials that random search is expected to need to get `share` of the way from median to best. */
static int trials_to(const ot_yardstick *y, double share)
{
    const double target = y->best + (y->median - y->best) * (1 - share);
    int at = 0;
    while (at < y->n - 1 && y->value[at] > target)
        at++;
    if (y->value[at] == y->best && share != 1 && at > 0)
        at--;
    return y->n / (y->n + 1 - at); /* at / (n + 1 - at), rounded up */
}

/* What M draws without replacement are expected to find. */
static double drawn(const ot_yardstick *y, double m)
{
    const int at = (int)nearbyint(m * (y->n + 1) / (m + 1));
    return y->value[at < y->n - 1 ? at : y->n - 1];
}

/* Slope of a monotone cubic at the end of the axis: a parabola through three points, kept from
 * overshooting. */
static double end_slope(double h0, double h1, double d0, double d1)
{
    const double slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if (slope * d0 <= 0)
        return 0;
    return d0 * d1 <= 0 && fabs(slope) > 3 * fabs(d0) ? 3 * d0 : slope;
}

/* Fritsch and Butland's monotone piecewise cubic through (x, y), at ascending places. */
static void smooth(const double *x, const double *y, int n, const double *at, double *to,
                   int steps)
{
    double *slope = ot_alloc((size_t)n * sizeof *slope);
    for (int i = 1; i + 1 < n; i++) {
        const double h0 = x[i] - x[i - 1], h1 = x[i + 1] - x[i];
        const double d0 = (y[i] - y[i - 1]) / h0, d1 = (y[i + 1] - y[i]) / h1;
        const double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
        slope[i] = d0 * d1 <= 0 ? 0 : (w0 + w1) / (w0 / d0 + w1 / d1);
    }
    if (n == 2) {
        slope[0] = slope[1] = (y[1] - y[0]) / (x[1] - x[0]);
    } else if (n > 2) {
        const double h0 = x[1] - x[0], h1 = x[2] - x[1];
        slope[0] = end_slope(h0, h1, (y[1] - y[0]) / h0, (y[2] - y[1]) / h1);
        const double g0 = x[n - 1] - x[n - 2], g1 = x[n - 2] - x[n - 3];
        slope[n - 1] =
            end_slope(g0, g1, (y[n - 1] - y[n - 2]) / g0, (y[n - 2] - y[n - 3]) / g1);
    }
    int k = 0;
    for (int i = 0; i < steps; i++) {
        if (n == 1) {
            to[i] = y[0];
            continue;
        }
        while (k + 2 < n && at[i] > x[k + 1])
            k++;
        const double h = x[k + 1] - x[k], t = (at[i] - x[k]) / h;
        const double t2 = t * t, t3 = t2 * t;
        to[i] = (2 * t3 - 3 * t2 + 1) * y[k] + (t3 - 2 * t2 + t) * h * slope[k] +
                (3 * t2 - 2 * t3) * y[k + 1] + (t3 - t2) * h * slope[k + 1];
    }
    free(slope);
}

static void set_random(ot_yardstick *y, double seconds_per_trial)
{
    double x[OT_SCORE_STEPS], value[OT_SCORE_STEPS], at[OT_SCORE_STEPS];
    int n = 0;
    double first = 1, last = 1;
    for (int i = 0; i < OT_SCORE_STEPS; i++) {
        const double m = nearbyint(fmax(1, y->time[i] / seconds_per_trial));
        if (i == 0)
            first = m;
        last = m;
        if (n && x[n - 1] == m)
            continue;
        x[n] = m;
        value[n++] = drawn(y, m);
    }
    for (int i = 0; i < OT_SCORE_STEPS; i++)
        at[i] = first + (last - first) * i / (OT_SCORE_STEPS - 1);
    smooth(x, value, n, at, y->random, OT_SCORE_STEPS);
}

int ot_yardstick_open(const ot_recorded *recorded, ot_yardstick *y, optune_err *err)
{
    const int all = recorded->n_trials;
    double *seconds = ot_alloc((size_t)all * sizeof *seconds);
    double good = 0, bad = 0;
    *y = (ot_yardstick){.value = ot_alloc((size_t)recorded->n_good * sizeof *y->value)};
    for (int i = 0; i < all; i++) {
        const ot_recorded_trial *trial = &recorded->trial[i];
        seconds[i] = trial->seconds;
        if (isfinite(trial->cost))
            y->value[y->n++] = trial->cost;
        *(isfinite(trial->cost) ? &good : &bad) += trial->seconds;
    }
    qsort(y->value, (size_t)y->n, sizeof *y->value, descending);
    qsort(seconds, (size_t)all, sizeof *seconds, descending);
    const double typical = middle(seconds, all);
    free(seconds);
    y->best = y->value[y->n - 1];
    y->median = middle(y->value, y->n);
    y->trials = trials_to(y, AXIS_TO);
    const double from = trials_to(y, AXIS_FROM) * typical, to = y->trials * typical;
    if (!(y->median > y->best) || !(to > from)) {
        ot_yardstick_close(y);
        return optune_fail(
            err, OPTUNE_ESYNTAX,
            "'%s' cannot tell searches apart: its configs are too few, too alike, or "
            "their trials took no time",
            recorded->name);
    }
    for (int i = 0; i < OT_SCORE_STEPS; i++)
        y->time[i] = from + (to - from) * i / (OT_SCORE_STEPS - 1);
    y->budget = BUDGET * to;
    /* A failing trial costs its share of the time of every good one. */
    const int failed = all - y->n;
    set_random(y, good / y->n + (failed ? bad / failed * ((double)failed / all) : 0));
    return OPTUNE_OK;
}

void ot_yardstick_close(ot_yardstick *y)
{
    free(y->value);
    y->value = NULL;
}

/* ---- the search ---------------------------------------------------------------------------- */

/* Where a cost stands among all, 0 for the worst; of equals the middle one. */
static double rank_of(const ot_yardstick *y, double cost)
{
    int lo = 0, hi = y->n;
    while (lo < hi) {
        const int at = (lo + hi) / 2;
        if (y->value[at] > cost)
            lo = at + 1;
        else
            hi = at;
    }
    int end = lo;
    while (end + 1 < y->n && y->value[end + 1] == y->value[lo])
        end++;
    return nearbyint((lo + end) / 2.0);
}

/* Neighbouring points whose ranks fall are pooled until none do: each rank becomes its pool's. */
static void isotonic(double *rank, const double *weight, int n)
{
    int *size = ot_alloc((size_t)n * sizeof *size); /* points in each pool */
    double *mean = ot_alloc((size_t)n * sizeof *mean);
    double *mass = ot_alloc((size_t)n * sizeof *mass);
    int pools = 0;
    for (int i = 0; i < n; i++) {
        mean[pools] = rank[i];
        mass[pools] = weight[i];
        size[pools++] = 1;
        while (pools > 1 && mean[pools - 2] > mean[pools - 1]) {
            const double both = mass[pools - 2] + mass[pools - 1];
            mean[pools - 2] =
                (mean[pools - 2] * mass[pools - 2] + mean[pools - 1] * mass[pools - 1]) / both;
            mass[pools - 2] = both;
            size[pools - 2] += size[pools - 1];
            pools--;
        }
    }
    for (int p = 0, i = 0; p < pools; p++)
        for (int k = 0; k < size[p]; k++)
            rank[i++] = mean[p];
    free(size);
    free(mean);
    free(mass);
}

static bool belongs(const ot_score_point *p, int groups, int left_out)
{
    return left_out < 0 || p->run % groups != left_out;
}

/* By when the longer half of the runs has ended: what comes later speaks for too few. */
static double stop_time(const ot_score_point *points, int n, int runs, int groups, int left_out,
                        double otherwise)
{
    double *end = ot_alloc((size_t)runs * sizeof *end);
    int kept = 0;
    for (int r = 0; r < runs; r++)
        end[r] = -1;
    for (int i = 0; i < n; i++)
        if (belongs(&points[i], groups, left_out))
            end[points[i].run] = points[i].time;
    for (int r = 0; r < runs; r++)
        if (end[r] >= 0)
            end[kept++] = end[r];
    qsort(end, (size_t)kept, sizeof *end, descending);
    const double median = kept ? middle(end, kept) : 0;
    double stop = otherwise;
    for (int r = kept - 1; r >= 0; r--)
        if (end[r] > median) {
            stop = end[r];
            break;
        }
    free(end);
    return stop;
}

double ot_score(const ot_yardstick *y, const ot_score_point *points, int n, int runs,
                int groups, int left_out, double *curve)
{
    double *x = ot_alloc((size_t)(n + 1) * sizeof *x);
    double *rank = ot_alloc((size_t)(n + 1) * sizeof *rank);
    double *weight = ot_alloc((size_t)(n + 1) * sizeof *weight);
    const double margin = 0.1 + 0.25 * runs / (n ? n : 1);
    const double from = y->time[0] * (1 - margin),
                 to = y->time[OT_SCORE_STEPS - 1] * (1 + margin);
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (!belongs(&points[i], groups, left_out) || points[i].time < from ||
            points[i].time > to)
            continue;
        const double r = rank_of(y, points[i].best);
        if (kept && x[kept - 1] == points[i].time) { /* one point per time */
            rank[kept - 1] = (rank[kept - 1] * weight[kept - 1] + r) / (weight[kept - 1] + 1);
            weight[kept - 1]++;
            continue;
        }
        x[kept] = points[i].time;
        rank[kept] = r;
        weight[kept++] = 1;
    }
    isotonic(rank, weight, kept);
    const double stop =
        stop_time(points, n, runs, groups, left_out, y->time[OT_SCORE_STEPS - 1]);
    double sum = 0, value = y->value[0];
    bool stopped = false;
    for (int i = 0, k = 0; i < OT_SCORE_STEPS; i++) {
        const double t = y->time[i];
        while (k + 1 < kept && x[k + 1] <= t)
            k++;
        double at = 0; /* nothing was found: as bad as the worst */
        if (kept)
            at = t <= x[0] || k + 1 >= kept
                     ? rank[k]
                     : rank[k] + (rank[k + 1] - rank[k]) * (t - x[k]) / (x[k + 1] - x[k]);
        if (!stopped)
            value = y->value[(int)nearbyint(at)];
        stopped = stopped || t > stop;
        if (curve)
            curve[i] = value;
        const double room = y->random[i] - y->best;
        sum += room > 0 ? (y->random[i] - value) / room : 0;
    }
    free(x);
    free(rank);
    free(weight);
    return sum / OT_SCORE_STEPS;
}

double ot_score_error(const ot_yardstick *y, const ot_score_point *points, int n, int runs)
{
    enum { GROUPS = 10 };
    const int groups = runs < GROUPS ? runs : GROUPS;
    double score[GROUPS], mean = 0, sum = 0;
    if (runs < 2)
        return NAN;
    for (int g = 0; g < groups; g++)
        mean += score[g] = ot_score(y, points, n, runs, groups, g, NULL);
    mean /= groups;
    for (int g = 0; g < groups; g++)
        sum += (score[g] - mean) * (score[g] - mean);
    return sqrt(sum * (groups - 1) / groups);
}
