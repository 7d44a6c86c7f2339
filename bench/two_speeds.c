/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine of two speeds costs a search, and what telling costs as at one speed
 * (tuner/speed.h) gives back: replays of recorded spaces on such a machine.
 *
 *     build/bench/two_speeds [--trials 40] [--repeats 100] [--stays 10] CACHE...
 *
 * The machine is 1.5 times as slow for about `stays` trials at a time, and as long at full speed;
 * kernels are slowed by 1.5 to the power of 0.7 to 1.3, each by its own, and the loop that tells by
 * half as much. What a run has in the end is the best, by what was recorded, of its best trial and
 * the three runners-up within 1.15, as finals are told by rounds of one speed. Shares of the best
 * there is; geometric means over runs, and the trials that a known config was measured again for.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/simulate/simulate.h"
#include "tuner/speed.h"

enum { FINALISTS = 4, MOST_TRIALS = 1000 };
static const double SLOW = 1.5, NEAR = 1.15, LOOP_S = 2e-6;

typedef enum machine { ONE_SPEED, AS_MEASURED, EVENLY } machine;

typedef struct trial {
    int64_t index;
    double own, told;
} trial;

typedef struct simulated {
    const ot_recorded *recorded;
    trial tried[MOST_TRIALS];
    int n, again;
    bool slow;
} simulated;

/* How many times as long this config takes now. */
static double slowed(const simulated *s, int64_t index)
{
    const uint64_t hash = ot_hash64(&index, sizeof index);
    return s->slow ? pow(SLOW, 0.7 + 0.6 * (double)(hash >> 11) * 0x1p-53) : 1;
}

static int by_told(const void *a, const void *b)
{
    const double x = ((const trial *)a)->told, y = ((const trial *)b)->told;
    return (x > y) - (x < y);
}

static const trial *best_of(const simulated *s)
{
    const trial *best = NULL;
    for (int i = 0; i < s->n; i++)
        if (isfinite(s->tried[i].told) && (!best || s->tried[i].told < best->told))
            best = &s->tried[i];
    return best;
}

static bool measure_known(void *arg, double *cost, double *pace)
{
    simulated *s = arg;
    const trial *known = best_of(s);
    s->again++;
    *cost = known->own * slowed(s, known->index);
    *pace = LOOP_S * (s->slow ? sqrt(SLOW) : 1);
    return true;
}

/* What was recorded of the best that finals find. */
static double finals(simulated *s)
{
    qsort(s->tried, (size_t)s->n, sizeof s->tried[0], by_told);
    double best = INFINITY;
    for (int i = 0; i < FINALISTS && i < s->n && s->tried[i].told <= NEAR * s->tried[0].told;
         i++)
        best = fmin(best, s->tried[i].own);
    return best;
}

static double run(const ot_recorded *recorded, machine on, int trials, int stays, uint64_t seed,
                  int *again)
{
    static const optune_target target;
    static const optune_device device;
    static simulated s;
    const ot_recorded_task task = {{NULL, &target, &device}, recorded};
    const ot_candidate candidate = {.impl = &ot_recorded_impl};
    ot_speeds speeds = {0};
    ot_arm arm;
    optune_err err = {0};
    optune_config queue[OT_QUEUE];
    uint64_t rng = seed ^ 0x5eed;
    int n_queued = 0;
    s = (simulated){.recorded = recorded, .slow = optune_random_below(&rng, 2)};
    if (ot_arm_open(&arm, &task.task, &candidate, ot_search_find(OT_DEFAULT_SEARCH), seed,
                    &err) < 0) {
        fprintf(stderr, "two_speeds: %s\n", err.text);
        exit(1);
    }
    arm.n_queue = 0;
    while (s.n < trials) {
        while (n_queued < 4 && s.n + n_queued < trials) {
            arm.view.left = trials - s.n - n_queued;
            if (!ot_arm_next(&arm, &queue[n_queued]))
                break;
            n_queued++;
        }
        if (!n_queued)
            break;
        const int64_t index = queue[0].index;
        const ot_recorded_trial *was = ot_recorded_find(recorded, index);
        if (optune_random_below(&rng, stays) == 0 && on != ONE_SPEED)
            s.slow = !s.slow;
        s.slow = s.slow && on != ONE_SPEED;
        const trial *known = best_of(&s);
        double times = 1;
        if (on == EVENLY && isfinite(was->cost))
            times = ot_speeds_at(&speeds, LOOP_S * (s.slow ? sqrt(SLOW) : 1),
                                 known ? known->told : INFINITY, measure_known, &s);
        const double told = was->cost * slowed(&s, index) / times;
        s.tried[s.n++] = (trial){index, was->cost, told};
        ot_arm_tell(&arm, &queue[0],
                    &(optune_told){.cost = told, .outcome = was->outcome, .seconds = 1});
        memmove(&queue[0], &queue[1], (size_t)--n_queued * sizeof queue[0]);
    }
    ot_arm_close(&arm);
    *again += s.again;
    return finals(&s);
}

static double best_there(const ot_recorded *recorded)
{
    double best = INFINITY;
    for (int i = 0; i < recorded->n_trials; i++)
        best = fmin(best, recorded->trial[i].cost);
    return best;
}

int main(int argc, char **argv)
{
    static const char *const word[] = {"--trials", "--repeats", "--stays"};
    int number[] = {40, 100, 10}, at = 1;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2)
        for (int k = 0; k < 3; k++)
            if (!strcmp(argv[at], word[k]) && atoi(argv[at + 1]) > 0)
                number[k] = atoi(argv[at + 1]);
    if (number[0] > MOST_TRIALS || at == argc) {
        fprintf(stderr, "usage: two_speeds [--trials N] [--repeats N] [--stays N] CACHE...\n");
        return 2;
    }
    double mean[3] = {0};
    const int n = argc - at;
    printf("| space | one speed | two, as measured | two, told as at one | again |\n"
           "| --- | --- | --- | --- | --- |\n");
    for (; at < argc; at++) {
        ot_recorded *recorded;
        optune_err err = {0};
        double sum[3] = {0};
        int again = 0;
        if (ot_recorded_read(argv[at], &recorded, &err) < 0) {
            fprintf(stderr, "two_speeds: %s\n", err.text);
            return 1;
        }
        const double best = best_there(recorded);
        for (int on = ONE_SPEED; on <= EVENLY; on++)
            for (int i = 0; i < number[1]; i++)
                sum[on] += log(best / run(recorded, (machine)on, number[0], number[2],
                                          (uint64_t)i + 1, &again)) /
                           number[1];
        const char *slash = strrchr(argv[at], '/');
        printf("| %s | %.3f | %.3f | %.3f | %.1f |\n", slash ? slash + 1 : argv[at],
               exp(sum[0]), exp(sum[1]), exp(sum[2]), (double)again / number[1]);
        fflush(stdout);
        for (int k = 0; k < 3; k++)
            mean[k] += sum[k] / n;
        ot_recorded_free(recorded);
    }
    printf("| geometric mean | %.3f | %.3f | %.3f | |\n", exp(mean[0]), exp(mean[1]),
           exp(mean[2]));
    return 0;
}
