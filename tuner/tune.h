/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the search that budget.c, arm.c, tune.c, finals.c, run.c and report.c share. */
#ifndef OPTUNE_TUNE_H
#define OPTUNE_TUNE_H

#include "tuner/tuner.h"

/* One implementation of one workload: its space, its search, and how it did so far. */
typedef struct ot_arm {
    const ot_candidate *candidate;
    const optune_impl *impl;
    optune_space *space;
    const optune_search *search;
    optune_search_view view;
    int trials;     /* known and done, of this question */
    int pending;    /* asked for, not yet told */
    bool exhausted; /* nothing fresh is left */
    double best;    /* cost; infinity: none */
    optune_config best_config;
    int64_t *queue; /* indices to try before the search is asked: fallback, hints */
    int n_queue, next_queue, queue_capacity;
    int64_t *seen; /* open-addressing set of indices; -1: empty */
    int64_t seen_capacity, n_seen;
} ot_arm;

/* arm.c */
int ot_arm_open(ot_arm *arm, const optune_task *task, const ot_candidate *candidate,
                const optune_search *search, uint64_t seed, optune_err *err);
void ot_arm_close(ot_arm *arm);
/* A config known from a record: counts as seen; told to the search. False when it was known
 * already, or is no config of the space. */
bool ot_arm_know(ot_arm *arm, const optune_config *config, double cost);
/* A config to try before the search is asked, unless seen or invalid. */
void ot_arm_hint(ot_arm *arm, const optune_config *config);
/* The next config, marked seen; false when nothing is left. */
bool ot_arm_next(ot_arm *arm, optune_config *config);
void ot_arm_tell(ot_arm *arm, const optune_config *config, double cost);

/* budget.c: index of the arm that gets the next trial; -1: all are exhausted. */
int ot_budget_next(const ot_arm *arm, int n);

/* One config where it is measured: at the call of its task, or, when that has ranges, at one
 * size in them. */
typedef struct ot_contender {
    const optune_task *task; /* what its plan is for */
    const optune_impl *impl;
    const optune_config *config;
    const optune_call *at; /* constants throughout; NULL: the task's call */
    const char *range;     /* with `at`: the task's call as text */
    const char *policy;    /* of its records: "warm m=128"; NULL: "warm" */
} ot_contender;

/* Where the workload at hand is measured, when its call has ranges, and what else to try there. */
typedef struct ot_spot {
    const optune_call *at; /* NULL: at the call itself, and the rest is empty */
    const char *range, *policy;
    int n_hints; /* configs to try first and to measure among the finalists */
    const optune_impl *const *hint;
    const optune_config *const *hint_config;
} ot_spot;

/* run.c: what one run shares among its workloads. */
typedef struct ot_run {
    optune *o;
    const optune_run_options *options;
    const optune_op *op; /* NULL: of several */
    const optune_search *search;
    ot_builder *builder;
    ot_worker *worker;
    ot_log *log, *extra_log;
    int n_workloads;
    optune_call *call;
    ot_spot spot;
    int trials;  /* per workload */
    double end;  /* ot_now() by which the run is over; infinity: none */
    double last; /* by which it is over even for workloads that have no trial yet */
    int new_trials, failures;
    double peak_flops, peak_bandwidth;
    optune_progress progress;
    ot_arena arena;      /* texts that live as long as the run: hints */
    optune_record *hint; /* of other devices or stale, for any of the workloads */
    int n_hints;
    double started;
    double first_s; /* the longest that a workload's first trial took, from its beginning */
    char waiting_note[OPTUNE_WHY_SIZE];
} ot_run;

/* How one workload went. */
typedef struct ot_tuned {
    bool done; /* something is known about it */
    int new_trials;
    int failures[16]; /* by outcome, of this question, stored ones included */
    int trials;       /* stored ones included */
    int64_t space;    /* configs in all spaces together */
    bool interrupted;
    char problem[OPTUNE_ERR_SIZE]; /* why nothing is known; empty: fine */
} ot_tuned;

/* trial.c: one outcome becomes a record, in the log and then in the store. */
int ot_record_trial(ot_run *run, const ot_contender *who, const ot_trial_result *result,
                    double seconds, bool final, optune_err *err);
void ot_run_report(ot_run *run, const char *phase, const char *note);

/* compile_only.c */
/* This machine's device, or the one that the target's options describe. */
int ot_compile_device(ot_run *run, optune_err *err);
int ot_compile_only(ot_run *run, optune_result **result, optune_err *err);

/* tune.c, finals.c */
int ot_tune(ot_run *run, int workload, double seconds, ot_tuned *tuned, optune_err *err);
/* One trial for each workload from `from` on that has none: the plevel default's fallback. All
 * compile beside each other. For devices so slow that a share of the time may be over before it
 * is measured. */
int ot_tune_first(ot_run *run, int from, ot_tuned *tuned, optune_err *err);
/* Measures the best of every arm, the plevel default's fallback and the runners-up interleaved. */
int ot_finals(ot_run *run, const optune_task *task, ot_arm *arm, int n, double seconds,
              optune_err *err);

/* finals.c: verified with a second seed and measured interleaved, all at one size; recorded as
 * finals. result[i] belongs to who[i]; texts and samples in the arena. */
int ot_compare(ot_run *run, const ot_contender *who, int n, double seconds, ot_arena *arena,
               ot_trial_result *result, optune_err *err);

/* run.c: the device, the worker, the compilers, the logs; `o`, `options` and `op` are set. */
int ot_run_open(ot_run *run, optune_err *err);
void ot_run_close(ot_run *run);

/* report.c */
optune_result *ot_run_result(ot_run *run, const ot_tuned *tuned);

#endif
