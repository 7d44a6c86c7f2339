/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One search on one recorded space, through the arm, the asking and the telling of a real run,
 * with as many configs out at a time. A trial takes what was recorded; what the search itself
 * computes is added as it is measured.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tuner/simulate/simulate.h"

static const ot_recorded *recorded_of(const optune_task *task)
{
    return ((const ot_recorded_task *)(const void *)task)->recorded;
}

static void space(const optune_task *task, optune_space *to)
{
    const ot_recorded *recorded = recorded_of(task);
    for (int k = 0; k < recorded->n_knobs; k++) {
        const ot_recorded_knob *knob = &recorded->knob[k];
        int64_t *number = ot_alloc((size_t)knob->n * sizeof *number);
        bool *truth = ot_alloc((size_t)knob->n * sizeof *truth);
        bool whole = true;
        for (int i = 0; i < knob->n; i++) {
            whole = ot_parse_int(knob->word[i], &number[i]) && whole;
            truth[i] = knob->word[i][0] == 't';
        }
        if (knob->kind == OT_RECORDED_BOOLS)
            optune_space_bools(to, knob->name, knob->n, truth);
        else if (knob->kind == OT_RECORDED_INTS && whole)
            optune_space_ints(to, knob->name, knob->n, number);
        else
            optune_space_words(to, knob->name, knob->n, (const char *const *)knob->word);
        free(number);
        free(truth);
    }
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    return ot_recorded_find(recorded_of(task), config->index) ||
           optune_refuse(why, "not in the record");
}

const optune_impl ot_recorded_impl = {
    .op = "recorded", .name = "recorded", .space = space, .valid = valid};

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct player {
    ot_arm arm;
    optune_config queue[OT_QUEUE];
    int n_queued, depth;
    double time, budget;
    int trials; /* 0: as many as the budget allows */
    ot_replay *replay;
} player;

/* How many more trials the search is told to expect; 0: nothing is known yet. */
static double left(const player *p)
{
    const int done = p->replay->trials;
    if (p->trials)
        return fmax(1, p->trials - done - p->n_queued);
    return done ? fmax(1, ceil((p->budget - p->time) / (p->time / done)) - p->n_queued) : 0;
}

/* As many configs out as in a run; false when none is. */
static bool fill(player *p)
{
    while (p->n_queued < p->depth &&
           (!p->trials || p->replay->trials + p->n_queued < p->trials)) {
        const double from = cpu_now();
        p->arm.view.left = left(p);
        const bool more = !p->arm.exhausted && ot_arm_next(&p->arm, &p->queue[p->n_queued]);
        const double took = cpu_now() - from;
        p->time += took;
        p->replay->cpu += took;
        if (!more)
            break;
        p->n_queued++;
    }
    return p->n_queued > 0;
}

static void measure(player *p, const ot_recorded *recorded)
{
    const optune_config *config = &p->queue[0];
    const ot_recorded_trial *trial = ot_recorded_find(recorded, config->index);
    const optune_told told = {
        .cost = trial->cost, .outcome = trial->outcome, .seconds = trial->seconds};
    p->time += trial->seconds;
    p->replay->trials++;
    p->replay->best = fmin(p->replay->best, trial->cost);
    const double at = cpu_now();
    ot_arm_tell(&p->arm, config, &told);
    const double took = cpu_now() - at;
    p->time += took;
    p->replay->cpu += took;
    memmove(&p->queue[0], &p->queue[1], (size_t)--p->n_queued * sizeof p->queue[0]);
}

/* Where draws would miss what was recorded, they are from the list of it. */
static void list_rare(ot_arm *arm, const ot_recorded *recorded)
{
    enum { RARE = 1000 };
    if (recorded->size / recorded->n_trials < RARE)
        return;
    arm->unseen = ot_alloc((size_t)recorded->n_trials * sizeof *arm->unseen);
    for (int i = 0; i < recorded->n_trials; i++)
        arm->unseen[arm->n_unseen++] = recorded->trial[i].index;
}

int ot_replay_run(const ot_recorded *recorded, const ot_yardstick *yardstick,
                  const optune_search *search, const optune_source *source, int n_sources,
                  uint64_t seed, int run, int trials, ot_score_point *points, int most,
                  ot_replay *replay)
{
    static const optune_target target;
    static const optune_device device;
    const ot_recorded_task task = {{NULL, &target, &device}, recorded};
    const ot_candidate candidate = {.impl = &ot_recorded_impl};
    player *p = ot_alloc(sizeof *p);
    int n = 0;
    p->replay = replay;
    p->budget = trials ? INFINITY : yardstick->budget;
    p->trials = trials;
    p->depth = ot_queue_depth(0);
    *replay = (ot_replay){.best = INFINITY};
    optune_err err;
    if (ot_arm_open(&p->arm, &task.task, &candidate, search, seed, &err) < 0) {
        free(p);
        return optune_fail(&err, OPTUNE_EUSAGE, "%s", err.text);
    }
    list_rare(&p->arm, recorded);
    p->arm.n_queue = 0; /* a record has no untuned config */
    p->arm.view.n_sources = n_sources;
    p->arm.view.source = source;
    while (p->time <= p->budget && n < most && fill(p)) {
        measure(p, recorded);
        if (isfinite(replay->best))
            points[n++] = (ot_score_point){p->time, replay->best, run};
    }
    ot_arm_close(&p->arm);
    free(p);
    return n;
}
