/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of a candidate behind its last sample, before its time is believed: is it possible,
 * is it the keeper's own, was it had with the threads of the target, and is what timed runs leave
 * right?
 *
 * The one idea: what a busy machine may explain is asked again, of runs so long that it cannot; a
 * candidate that does as it says passes at once, and costs a few milliseconds.
 */
#include <math.h>

#include "run/worker/worker_contest.h"

static const double ROW_S = 3e-3;   /* of runs in a row */
static const double MUCH_S = 20e-3; /* a run this long is not done once more for its outputs */
static const double LAG_S = 150e-6; /* that a report's way to the keeper may take */
static const double LATE = 0.1;     /* share of the time by which a clock may be off */
static const double LONG_S = 50e-3; /* of runs for which a report's way does not matter */
static const double LONGEST_S = 2;  /* of a row, whatever most of it was spent with */
static const double BUSY = 1.05;    /* threads for each one of the target, */
static const double BUSY_S = 3e-3;  /* and what clocks may be off */
/* Two of the steps in which it is told what children did, and what they are little against. */
static const double CHILD_S = 20e-3, CHILDREN_S = 0.2;
enum { ROWS = 8, CONFIRMED = 2 };

/* Seconds that a run takes, with what is restored in front of it. */
static double each_of(const ot_contestant *c, const ot_measured *m)
{
    return fmax(m->interval.median + c->apart, 1e-9);
}

/* A row of about so many seconds. */
static bool row_of(ot_contestant *c, const ot_measured *m, double wanted, double *seconds,
                   double *lag)
{
    const double runs = ceil(wanted / each_of(c, m));
    ot_contest_announce(c);
    return ot_contest_row(c, (int64_t)fmax(runs, 1), false, seconds, lag);
}

/* Of the last row, what neither the runner's first thread nor the keeper waited for a core. */
static double without_waiting(const ot_contestant *c, bool rested)
{
    return c->row.wall - (rested ? c->row.waited : 0) - c->row.kept;
}

/* A report on its way is late by as much whatever it tells of; a clock that goes slowly is late in
 * proportion. Rows become longer until the one can be told from the other: on a busy machine a
 * report takes as long as many runs do, so what counts is the part of a row that was no waiting. */
static bool honest_clock(ot_contestant *c, const ot_measured *m)
{
    double seconds, late, least = INFINITY, reported = 0, wanted = ROW_S;
    bool rested = false;
    /* The clock of a device counts less than what brings runs to it, and is its driver's; of long
     * samples the keeper's own was taken; there is more between runs that are timed singly. */
    if (c->policy->cold || c->apart > 0 || !c->keeper->fresh ||
        m->interval.median * (double)m->inner >= LONG_S)
        return true;
    for (int i = 0; i < ROWS;) {
        if (!row_of(c, m, wanted, &seconds, &late))
            return false;
        if (late < LATE * seconds + (seconds + late < LONG_S ? LAG_S : 0))
            return true;
        const double spent = without_waiting(c, rested);
        rested = ot_runner_rest(c->runner);
        if (spent < LONG_S && c->row.wall < LONGEST_S) {
            wanted *= spent < LONG_S / 8 ? 8 : 2;
            continue;
        }
        if (late / seconds < least) {
            least = late / seconds;
            reported = seconds;
        }
        wanted *= ++i % 2 ? 1 : 2;
    }
    c->outcome = OPTUNE_OUTCOME_RUNTIME;
    snprintf(c->text, sizeof c->text,
             "too fast to be true: it says that runs took %.3g s which lasted %.3g s", reported,
             reported * (1 + least));
    return false;
}

/* However busy the machine is, each of as many threads as the target has computes for no longer
 * than all of it took, and the first one neither computes nor waits for longer: seconds of a row
 * that are left beyond that, at most 0 of an honest one. What others compute for it later is seen
 * as a process that it left behind. */
static bool excess(ot_contestant *c, const ot_measured *m, double wanted, double *left,
                   bool *children)
{
    double seconds, lag;
    const bool rested = ot_runner_rest(c->runner);
    const ot_children before = ot_runner_children(c->runner);
    if (!row_of(c, m, wanted, &seconds, &lag))
        return false;
    const ot_children after = ot_runner_children(c->runner);
    *children = after.faults != before.faults;
    const double used = c->row.cpu + (rested ? c->row.waited : 0) + after.cpu - before.cpu;
    *left = used - BUSY * c->keeper->device.threads * c->row.wall;
    return true;
}

static bool within_threads(ot_contestant *c, const ot_measured *m)
{
    const double threads = c->keeper->device.threads;
    bool children = false;
    double left = 0;
    if (!c->keeper->fresh || threads < 1)
        return true;
    if (!excess(c, m, ROW_S, &left, &children))
        return false;
    if (left <= 0 && !children && c->spent.cpu <= BUSY * threads * c->spent.wall)
        return true;
    for (int i = 0; i < CONFIRMED; i++) {
        if (!excess(c, m, children ? CHILDREN_S : LONG_S, &left, &children))
            return false;
        if (left <= (children ? CHILD_S : BUSY_S))
            return true;
    }
    c->outcome = OPTUNE_OUTCOME_RUNTIME;
    snprintf(c->text, sizeof c->text, "it used %.2f threads where the target has %.0f",
             left / c->row.wall + BUSY * threads, threads);
    return false;
}

static bool possible(ot_contestant *c, const ot_measured *m)
{
    char why[OPTUNE_WHY_SIZE];
    const double least =
        ot_least_seconds(&c->keeper->inputs.call, &c->keeper->device, why, sizeof why);
    /* What is restored in front of a run need not be written in it. */
    if (c->keeper->row->costs || c->apart > 0 || m->interval.median >= least)
        return true;
    c->outcome = OPTUNE_OUTCOME_RUNTIME;
    snprintf(c->text, sizeof c->text,
             "too fast to be true: %.3g s, and %s take %.3g s at least", m->interval.median,
             why, least);
    return false;
}

/* Once more as in a sample, over outputs with nothing in them. */
static bool last_row(ot_contestant *c, const ot_measured *m)
{
    double seconds, lag;
    const double runs = fmin((double)m->inner, ROW_S / each_of(c, m));
    /* Which elements are written may follow from inputs, and the runs of a row have other ones. */
    if (ot_contest_leaves(c, OT_SET_TRUE))
        return true;
    if (c->keeper->row->costs || (runs < 2 && m->interval.median > MUCH_S))
        return true; /* a look says nearly the same */
    return ot_contest_row(c, runs < 2 ? 2 : (int64_t)runs, true, &seconds, &lag) &&
           ot_contest_judge(c, OT_SET_TRUE, OT_ALIGNED, OT_SPOT_ELEMENTS);
}

void ot_contest_verdict(ot_contestant *c, const ot_measured *m)
{
    ot_contest_announce(c);
    c->doing = "verifying what was measured";
    if (c->outcome == OPTUNE_OUTCOME_OK && m->failed) {
        c->outcome = OPTUNE_OUTCOME_RUNTIME;
        ot_copy(c->text, sizeof c->text, "it could not be measured");
    }
    if (c->outcome != OPTUNE_OUTCOME_OK || !possible(c, m))
        return;
    /* Of one that is slower than the best anyway, a look between its samples is enough. */
    if (honest_clock(c, m) && !m->gave_up && !m->beaten && within_threads(c, m) &&
        last_row(c, m))
        ot_contest_look(c);
}
