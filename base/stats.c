/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries of samples. The median's confidence interval is distribution-free: the k-th
 * smallest and the k-th largest sample enclose the median with a probability that the binomial
 * distribution gives exactly (David, Nagaraja: "Order Statistics", 7.1). Nothing assumes that
 * times are normally distributed; they are not.
 */
#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

int ot_ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The largest k with P(Binomial(n, 1/2) < k) <= 2.5 %, at least 1. */
static int median_rank(int n)
{
    double log_term = -n * log(2); /* of P(X = 0); logarithms, as 2^-n underflows */
    double sum = 0;
    int k = 0;
    while (k < n / 2) {
        sum += exp(log_term);
        if (sum > 0.025)
            break;
        log_term += log((double)(n - k) / (k + 1));
        k++;
    }
    return k > 0 ? k : 1;
}

/* Every record that is read asks; two threads at once find the same. */
int ot_median_rank(int n)
{
    static _Atomic unsigned char known[256];
    if (n < 0 || n >= OT_COUNT(known))
        return median_rank(n);
    int rank = atomic_load_explicit(&known[n], memory_order_relaxed);
    if (!rank) {
        rank = median_rank(n);
        atomic_store_explicit(&known[n], (unsigned char)rank, memory_order_relaxed);
    }
    return rank;
}

enum { FEW = 32 };

static void sort_few(double *value, int n)
{
    for (int i = 1; i < n; i++) {
        const double one = value[i];
        int k = i;
        for (; k > 0 && value[k - 1] > one; k--)
            value[k] = value[k - 1];
        value[k] = one;
    }
}

ot_interval ot_median_interval(const double *sample, int n)
{
    assert(n >= 0);
    if (n == 0)
        return (ot_interval){INFINITY, INFINITY, INFINITY};
    double few[FEW], *sorted = n <= FEW ? few : ot_alloc((size_t)n * sizeof *sorted);
    memcpy(sorted, sample, (size_t)n * sizeof *sorted);
    if (n <= FEW)
        sort_few(sorted, n);
    else
        qsort(sorted, (size_t)n, sizeof *sorted, ot_ascending);
    int k = ot_median_rank(n);
    /* The two middle samples are the same one when n is odd. */
    double below = sorted[(n - 1) / 2], above = sorted[n / 2];
    ot_interval interval = {
        .median = below == above ? below : below + (above - below) / 2,
        .low = sorted[k - 1],
        .high = sorted[n - k],
    };
    if (sorted != few)
        free(sorted);
    return interval;
}

/* ---- rounds ------------------------------------------------------------------------------ */

enum { ROUNDS = 10 }; /* fewer tell no two speeds apart */
static const double BEYOND_CHANCE = 1.5;

/* How much slower each round was than a quick one, for whom it slowed least: what one of them does
 * by itself now and then is its own, and stays in its samples. Returns in how many rounds all would
 * be slow at once if each was so by itself, whenever it is. */
static double find_speeds(const double *const *sample, int n, int rounds, double *speed)
{
    double *sorted = ot_alloc((size_t)rounds * sizeof *sorted);
    double by_chance = rounds;
    for (int r = 0; r < rounds; r++)
        speed[r] = INFINITY;
    for (int i = 0; i < n; i++) {
        memcpy(sorted, sample[i], (size_t)rounds * sizeof *sorted);
        qsort(sorted, (size_t)rounds, sizeof *sorted, ot_ascending);
        const double quick = sorted[rounds / 10];
        int slow = 0;
        for (int r = 0; r < rounds; r++) {
            const double own = quick > 0 ? sample[i][r] / quick : 1;
            speed[r] = fmin(speed[r], own);
            slow += own > OT_SLOWED;
        }
        by_chance *= (double)slow / rounds;
    }
    free(sorted);
    return by_chance;
}

int ot_one_speed(const double *const *sample, int n, int rounds, bool *taken)
{
    int quick = 0;
    for (int r = 0; r < rounds; r++)
        taken[r] = true;
    if (n < 2 || rounds < ROUNDS)
        return rounds;
    double *speed = ot_alloc((size_t)rounds * sizeof *speed);
    const double by_chance = find_speeds(sample, n, rounds, speed);
    for (int r = 0; r < rounds; r++) {
        taken[r] = speed[r] <= OT_SLOWED;
        quick += taken[r];
    }
    free(speed);
    const bool chance = rounds - quick < BEYOND_CHANCE * by_chance;
    if (!chance && quick >= ROUNDS && quick >= rounds / 4)
        return quick;
    const bool slow = !chance && rounds - quick >= ROUNDS;
    for (int r = 0; r < rounds; r++)
        taken[r] = !slow || !taken[r];
    return slow ? rounds - quick : rounds;
}

double ot_quantile(const double *sorted, int n, double share)
{
    const double at = share * (n - 1);
    const int below = (int)at;
    return below + 1 < n ? sorted[below] + (sorted[below + 1] - sorted[below]) * (at - below)
                         : sorted[n - 1];
}

double ot_geomean(const double *value, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += log(value[i]);
    return n ? exp(sum / n) : 0;
}
