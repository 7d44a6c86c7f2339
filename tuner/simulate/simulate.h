/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded space as one more implementation, so that arms and searches work on it as in a run:
 * its knobs are those of the file, and what the file does not have is no valid config.
 */
#ifndef OPTUNE_SIMULATE_H
#define OPTUNE_SIMULATE_H

#include "tuner/simulate/score.h"
#include "tuner/tune.h"

typedef struct ot_recorded_task {
    optune_task task; /* first: what the implementation is handed */
    const ot_recorded *recorded;
} ot_recorded_task;
extern const optune_impl ot_recorded_impl; /* works on ot_recorded_task only */

/* How one search went once. */
typedef struct ot_replay {
    int trials;
    double best, cpu; /* cost of the best config; seconds of our own in ask and tell */
} ot_replay;
/* replay_records.c: spaces of what was measured here. */
typedef struct ot_records {
    int n;
    ot_recorded **space; /* who takes one leaves NULL */
    ot_text left_out;    /* implementations with too few configs, and how many; empty: none */
} ot_records;
/* Of the log, else of the store; workload NULL: all of them. ENOENT: there are none, or too few,
 * with how many. To be released in either case. */
int ot_records_open(optune *o, const char *workload, const char *log, ot_records *records,
                    optune_err *err);
void ot_records_release(ot_records *records);

/* What the others of these spaces know of `of`, those of the same kernel; at most n - 1 sources,
 * for ot_sources_free. Returns how many. */
int ot_recorded_sources(ot_recorded *const *all, int n, int of, optune_source *source);
/* `source`: what is known elsewhere; `trials`: how many a run has, 0: what the yardstick's budget
 * of time allows. Points go behind `points` with their run's number; returns how
 * many, at most `most`. */
int ot_replay_run(const ot_recorded *recorded, const ot_yardstick *yardstick,
                  const optune_search *search, const optune_source *source, int n_sources,
                  uint64_t seed, int run, int trials, ot_score_point *points, int most,
                  ot_replay *replay);

#endif
