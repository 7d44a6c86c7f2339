/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a time becomes a cost: samples, each long against the clock, until the confidence
 * interval of their median is narrow. It runs what it is given and adds up what that
 * returns; it reads no clock of its own, so the same times always give the same decision.
 *
 * The one idea: spend time where it can change the answer. A candidate whose interval lies
 * above the best is left early; finalists are measured in rounds, so that what drifts (clock
 * rate, neighbours) hits all alike, and are told by rounds of one speed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/worker.h"

/* Before an interleaved sample the candidate runs for about this long, so that it finds its own
 * data in the caches and other candidates' idle threads asleep. */
static const double WARM_S = 2e-3;

/* A process that has the core does not keep it for longer. */
static const double TURN_S = 50e-3;

/* An interval of this share of the median, all of it above the best, is enough to learn from. */
static const double ROUGH = 0.1;

/* Times as long as the runs before have it. */
static const double SUDDEN = 3;

enum { FEWEST = 3, ROUNDS = 10, BEAR_OUT = 6, MOST_BEGUN = 4 };

/* To as many digits as a clock can know: a nanosecond of a second. It makes records shorter. */
static double shortened(double seconds)
{
    char digits[40];
    double value = seconds;
    ot_format(digits, sizeof digits, "%.9g", seconds);
    ot_read_real(digits, &value);
    return value;
}

static void add(const ot_measure_policy *policy, ot_measured *m, double seconds)
{
    const double sample = seconds / (double)m->inner;
    if (m->n < OT_MAX_SAMPLES) /* what a program tells is its own */
        m->sample[m->n++] = policy->costs ? sample : shortened(sample);
    m->interval = ot_median_interval(m->sample, m->n);
}

/* Whether the interval is no wider than this share of the median. */
static bool within(const ot_measure_policy *policy, const ot_measured *m, double width)
{
    const ot_interval *i = &m->interval;
    return m->n >= policy->min_samples && i->high - i->low <= width * i->median;
}

static bool narrow(const ot_measure_policy *policy, const ot_measured *m)
{
    return within(policy, m, policy->width);
}

/* More samples would not make it the best. */
static bool beaten(const ot_measure_policy *policy, double best, const ot_measured *m)
{
    return m->interval.low > best && within(policy, m, fmax(ROUGH, policy->width));
}

/* What runs took, of which the timer said this: with what is done in front of each. */
static double took(const ot_measure_policy *policy, void *arg, double said)
{
    return policy->lasted && said >= 0 ? policy->lasted(arg) : said;
}

/* Runs once for warmth, then more and more at a time until a sample is long enough: that one is
 * the first sample. One that is long all of a sudden may have met a turn of another process: as
 * many runs have to be as long again, or a sample would be a single run for good. Returns the
 * seconds spent; negative: failed. */
static double grow(const ot_measure_policy *policy, ot_timer timer, void *arg, ot_measured *m)
{
    *m = (ot_measured){.inner = 1};
    double spent = took(policy, arg, timer(arg, 1)), once = spent;
    while (spent >= 0) {
        const double t = timer(arg, m->inner), lasted = took(policy, arg, t);
        if (t < 0)
            break;
        const bool sudden = lasted > SUDDEN * once * (double)m->inner;
        once = lasted / (double)m->inner;
        spent += lasted;
        if (lasted >= policy->sample_s && sudden)
            continue;
        if (lasted >= policy->sample_s || m->inner >= (int64_t)1 << 40) {
            add(policy, m, t);
            return spent;
        }
        const double times = lasted > 0 ? policy->sample_s * 1.2 / lasted : 10;
        m->inner = (int64_t)ceil((double)m->inner * fmin(fmax(times, 1.5), 10));
    }
    m->failed = true;
    return -1;
}

/* One or two samples say little, so they must be far off. */
static bool hopeless(const ot_measure_policy *policy, double best, const ot_measured *m)
{
    const double margin = m->n >= FEWEST ? 1 : 2;
    return m->interval.low > best * policy->give_up * margin;
}

/* What one or two samples said may be turns of other processes on this core, which on a busy
 * machine come one behind another, so short samples have to be borne out: some more runs, each of
 * them as far off. They are no samples. */
static bool slow_again(const ot_measure_policy *policy, double best, ot_timer timer, void *arg,
                       ot_measured *m, double *spent)
{
    if (m->n >= FEWEST || m->interval.low * (double)m->inner >= TURN_S)
        return true;
    double sum = 0;
    for (int i = 0; i < BEAR_OUT && sum < TURN_S; i++) {
        const double t = timer(arg, 1);
        m->failed = t < 0;
        *spent += took(policy, arg, t);
        sum += t;
        if (m->failed || t <= best * policy->give_up * 2)
            return false;
    }
    return true;
}

void ot_measure(const ot_measure_policy *policy, double best, ot_timer timer, void *arg,
                ot_measured *m)
{
    double spent = grow(policy, timer, arg, m);
    for (int begun = 1; !m->failed;) {
        const bool far = hopeless(policy, best, m);
        m->gave_up = far && slow_again(policy, best, timer, arg, m, &spent);
        if (far && !m->gave_up && !m->failed && begun++ < MOST_BEGUN) {
            spent += grow(policy, timer, arg, m); /* it grew to what others took */
            continue;
        }
        m->beaten = beaten(policy, best, m);
        if (m->failed || m->gave_up || m->beaten || narrow(policy, m) ||
            m->n >= policy->max_samples || m->n >= OT_MAX_SAMPLES ||
            (spent >= policy->budget_s && m->n >= FEWEST))
            return;
        const double t = timer(arg, m->inner);
        m->failed = t < 0;
        spent += took(policy, arg, t);
        if (!m->failed)
            add(policy, m, t);
    }
}

/* ---- finals ------------------------------------------------------------------------------ */

static void shuffle(int *order, int n, uint64_t *rng)
{
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)optune_random_below(rng, i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
}

/* As ot_one_speed, of contenders that are still there; all rounds of what is no time. */
static int of_one_speed(const ot_measure_policy *policy, const ot_measured *m, int n,
                        const double **sample, int rounds, bool *taken)
{
    int there = 0;
    for (int i = 0; i < n && !policy->costs; i++)
        if (!m[i].failed)
            sample[there++] = m[i].sample;
    return ot_one_speed(sample, there, rounds, taken);
}

/* By the samples of these rounds alone. */
static void tell_of(ot_measured *m, int rounds, const bool *taken, double *sample)
{
    int k = 0;
    for (int r = 0; r < rounds; r++)
        if (taken[r])
            sample[k++] = m->sample[r];
    m->interval = ot_median_interval(sample, k);
}

void ot_measure_together(const ot_measure_policy *policy, ot_timer timer, void *const *arg,
                         int n, double seconds, uint64_t seed, ot_measured *m)
{
    uint64_t rng = seed;
    double spent = 0, sample[OT_MAX_SAMPLES];
    bool taken[OT_MAX_SAMPLES];
    int rounds = 0, left = 0;
    const double **all = ot_alloc((size_t)(n + 1) * sizeof *all);
    int *order = ot_alloc((size_t)(n + 1) * sizeof *order);
    for (int i = 0; i < n; i++) {
        order[i] = i;
        const double t = grow(policy, timer, arg[i], &m[i]);
        spent += t > 0 ? t : 0;
        m[i].n = 0; /* not taken in turn */
    }
    for (;;) {
        shuffle(order, n, &rng);
        for (int k = 0; k < n; k++) {
            const int i = order[k];
            if (m[i].failed)
                continue;
            const double once =
                m[i].n ? m[i].interval.median : policy->sample_s / (double)m[i].inner;
            /* What is done in front of each run may take longer than it, and a sample says how
             * many are a fifth of a millisecond with that. */
            const double runs = fmin(ceil(WARM_S / once), 12 * (double)m[i].inner);
            const double warm =
                policy->cold || policy->costs ? 0 : timer(arg[i], (int64_t)fmax(1, runs));
            spent += warm > 0 ? took(policy, arg[i], warm) : 0;
            const double t = warm < 0 ? -1 : timer(arg[i], m[i].inner);
            m[i].failed = t < 0;
            if (m[i].failed)
                continue;
            add(policy, &m[i], t);
            spent += took(policy, arg[i], t);
        }
        rounds++;
        left = of_one_speed(policy, m, n, all, rounds, taken);
        bool settled = left >= ROUNDS;
        for (int i = 0; i < n; i++)
            if (!m[i].failed) {
                tell_of(&m[i], rounds, taken, sample);
                settled = settled && narrow(policy, &m[i]);
            }
        /* Slow candidates end it before ten rounds, or it would take minutes. */
        if (rounds >= OT_MAX_SAMPLES || (rounds >= ROUNDS && (settled || spent >= seconds)) ||
            (rounds >= FEWEST && spent >= 3 * seconds))
            break;
    }
    for (int i = 0; i < n; i++)
        if (!m[i].failed) {
            tell_of(&m[i], rounds, taken, sample);
            memcpy(m[i].sample, sample, (size_t)left * sizeof *sample);
            m[i].n = left;
            m[i].left_out = rounds - left;
        }
    free(all);
    free(order);
}
