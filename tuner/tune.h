/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the search that budget.c, arm.c, tune.c, finals.c, run.c and report.c share. */
#ifndef OPTUNE_TUNE_H
#define OPTUNE_TUNE_H

#include "answer/graph.h"
#include "answer/metric.h"
#include "run/run.h"

/* One implementation of one workload: its space, its search, and how it did so far. */
typedef struct ot_arm {
    const ot_candidate *candidate;
    const optune_impl *impl;
    optune_space *space;
    const optune_search *search;
    optune_search_view view;
    int trials;  /* known and done, of this question */
    int pending; /* asked for, not yet told: asked[0..pending-1] */
    int64_t *asked;
    int asked_capacity;
    bool spaceless; /* its row misused the builder of its space: there is nothing to try */
    bool exhausted; /* nothing fresh is left, or `slip` ended it */
    char slip[OPTUNE_WHY_SIZE]; /* what its search asked for that no search may; "": nothing */
    bool
        waits; /* is to be compared with and cannot be chosen: one trial, after the first of the
                   others */
    bool has_fallback;
    optune_config fallback;
    char fallback_why[OPTUNE_WHY_SIZE]; /* why it has none that may be used */
    double best;                        /* cost; infinity: none */
    optune_config best_config;
    int since;      /* trials since it was found; those that were known have no order */
    double seconds; /* what `timed` of its trials took, compiling included */
    int timed;
    double hoped;   /* ot_arm_hope; 0: its search does not say */
    int64_t *queue; /* indices to try before the search is asked: fallback, hints */
    int n_queue, next_queue, queue_capacity;
    int64_t *seen; /* open-addressing set of indices; -1: empty */
    int64_t seen_capacity, n_seen;
    int64_t *unseen; /* draw.c: valid ones, once they had to be listed; seen ones leave late */
    int64_t n_unseen;
    optune_source *source; /* the view's, owned; NULL: none, or somebody else's */
} ot_arm;

/* The search of runs that name none. */
#define OT_DEFAULT_SEARCH "forest"
/* Trials of a workload that are out at once, asked for and not told yet, are this many at most. */
enum { OT_QUEUE = 8 };
/* arm.c: how many where so many compilers run. Each compiles one, one is measured and one is ready
 * to be; what is asked for earlier is chosen with less known. 0: as many as there are cores. */
int ot_queue_depth(int compilers);

/* arm.c */
int ot_arm_open(ot_arm *arm, const optune_task *task, const ot_candidate *candidate,
                const optune_search *search, uint64_t seed, optune_err *err);
void ot_arm_close(ot_arm *arm);
/* A config known from a record: counts as seen; told to the search. False when it was known
 * already, or is no valid config of the space. */
bool ot_arm_know(ot_arm *arm, const optune_config *config, const optune_told *how);
/* A config to try before the search is asked, unless seen or invalid. */
void ot_arm_hint(ot_arm *arm, const optune_config *config);
/* The next config, marked seen; false when nothing is left, or the search asks for what is no fresh
 * config: that ends it, and `slip` says so. */
bool ot_arm_next(ot_arm *arm, optune_config *config);
/* A search's word: seconds that the best of what it would try next may well cost. */
void ot_arm_hope(const optune_search_view *view, double cost);
void ot_sources_free(optune_source *source, int n); /* and their trials */
/* How the trial of a config ended; `how` may leave its index out. */
void ot_arm_tell(ot_arm *arm, const optune_config *config, const optune_told *how);

/* budget.c: index of the arm that gets the next trial; -1: all are exhausted. `of_time`: the time
 * ends the run, not the number of trials. */
int ot_budget_next(const ot_arm *arm, int n, bool of_time);

/* How time is shared among several by what they weigh; some of it goes to all alike. */
typedef struct ot_shares {
    int n;
    double weights; /* the sum */
    double taken;   /* of the whole, 0 to 1; zero to start */
} ot_shares;
/* Of the seconds that are left for all who had no share yet, those of the next one. */
double ot_shares_next(ot_shares *shares, double weight, double left);

/* One config where it is measured: at the call of its task, or, when that has ranges, at one
 * size in them. */
typedef struct ot_contender {
    const optune_task *task; /* what its plan is for */
    const optune_impl *impl;
    const optune_config *config;
    const optune_call *at; /* constants throughout; NULL: the task's call */
    const char *range;     /* with `at`: the task's call as text */
    const char *policy;    /* of its records: "warm m=128"; NULL: the handle's */
} ot_contender;

/* Where the workload at hand is measured, when its call has ranges, and what else to try there. */
typedef struct ot_tuning_spot {
    const optune_call *at; /* NULL: at the call itself */
    const char *range;
    const char *policy; /* of its records; NULL: the handle's */
    int n_hints;        /* configs to try first and to measure among the finalists */
    const optune_impl *const *hint;
    const optune_config *const *hint_config;
} ot_tuning_spot;

/* watch.c: whose the machine was while the worker measured. */
typedef struct ot_watch {
    const char *root; /* in front of /proc and /sys: "" but in tests */
    int core[256], n; /* that kernels run on; none: nothing is watched */
    bool watching;    /* the worker measures: */
    ot_cpu_load before;
    ot_disturbance sum; /* of the trial, or of the finals, at hand */
    int in_vain;        /* repetitions in a row that were disturbed, too */
} ot_watch;

/* in_graph.c: how the whole graph did whose workloads these are. */
typedef struct ot_in_graph {
    bool done;                   /* false: there was no time, or no graph */
    ot_interval alone, together; /* seconds of the whole: as chosen before; in the graph */
    bool kept;                   /* the latter is no slower, and recorded */
    int others, workloads; /* that are computed by another config than alone; of so many */
    double lighter;        /* bytes of constants that slower candidates save */
    char problem[OPTUNE_ERR_SIZE];
} ot_in_graph;

/* layouts.c: how the graph did in blocks of channels. */
typedef struct ot_in_layouts {
    bool done;       /* it was looked for */
    ot_layouts told; /* block 0: no choice of layouts promises anything */
    char problem[OPTUNE_ERR_SIZE];
} ot_in_layouts;

/* sites.c: how the graph did with its sites as calls, or not, as costs say and as untuned. */
typedef struct ot_in_sites {
    int turns;               /* that were taken between two such graphs */
    double untuned, best;    /* seconds of the whole, in the turns of the best that was found */
    bool kept;               /* which is used: it is faster than untuned */
    char problem[OPTUNE_ERR_SIZE];
} ot_in_sites;

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
    ot_tuning_spot spot;
    ot_measure_policy policy;
    int trials;        /* per workload */
    double end;        /* ot_now() by which the run is over; infinity: none */
    double last;       /* by which it is over even for workloads that have no trial yet */
    double first_last; /* and even where there is no trial at all */
    double until;      /* by which the worker answers, or is ended; 0: none */
    int begun;         /* workloads that had a new trial */
    int new_trials, failures;
    bool broken;       /* an outcome could not be written down: the run ends */
    ot_peaks peak;     /* 0: not known */
    bool peak_settled; /* measured while the machine was ours */
    bool peak_told;    /* and is not measured */
    optune_progress progress;
    struct ot_transfer
        *transfer; /* what was measured before, for any of the workloads; or NULL */
    double started;
    double first_s; /* the longest that a workload's first trial took, from its beginning */
    char waiting_note[OPTUNE_WHY_SIZE];
    double waited_s, waiting_s; /* for other runs' measurements: all, this time so far */
    ot_watch watch;
    const char *memory_root; /* see ot_memory_available */
    double held;             /* bytes that the worker holds for its present workload */
    ot_in_sites sites;
    ot_in_graph in_graph;
    ot_in_layouts layouts;
    ot_metrics metrics;
    char left_out[1024]; /* implementations whose missing library was told, each with a space */
} ot_run;

/* It was the time, and nobody, that ended what the worker was asked for. */
bool ot_run_is_late(const ot_run *run, int status);

/* A pace that was met, and how many times as long as at first everything takes there. */
typedef struct ot_speed {
    double pace, times;
} ot_speed;
enum { OT_MOST_SPEEDS = 12 };
typedef struct ot_speeds { /* of a workload's trials, see speed.h; zero to start */
    int n, next;           /* speeds below; where the next one goes once there is no room */
    ot_speed speed[OT_MOST_SPEEDS];
    double times; /* of the last trial; 0: none was asked about */
} ot_speeds;

/* The best trial of a workload in this run, by which speeds are told. */
typedef struct ot_known_trial {
    const optune_impl *impl; /* NULL: there is none yet */
    optune_config config;
    ot_job job;
    double cost; /* as at the first speed */
} ot_known_trial;

/* How one workload went. */
typedef struct ot_tuned {
    bool done; /* something is known about it */
    int new_trials;
    int failures[16]; /* by outcome, of this question, stored ones included */
    int trials;       /* stored ones included */
    int64_t space;    /* configs in all spaces together */
    int64_t unasked;  /* 1 more than the elements that a `standard` leaves; 0: it was not run */
    ot_speeds speeds; /* that the machine had */
    ot_known_trial known;
    bool interrupted;
    bool failed;                   /* it ended before its time, for its own problem */
    char problem[OPTUNE_ERR_SIZE]; /* why that is, or why nothing is known; empty: fine */
} ot_tuned;

/* trial.c: one outcome becomes a record, in the log and then in the store. */
int ot_record_trial(ot_run *run, const ot_contender *who, const ot_trial_result *result,
                    double seconds, bool final, optune_err *err);
/* What a record says of the machine now, see ot_cpu_state. */
void ot_run_host(const ot_run *run, ot_text *to);
void ot_run_report(ot_run *run, const char *phase, const char *note);

/* watch.c */
void ot_watch_open(ot_run *run);
void ot_watch_begin(ot_run *run); /* a measurement begins */
void ot_watch_end(ot_run *run);   /* and is over, its processes still there */
/* Waits until the cores that kernels run on are nearly idle, or the run's time is over.
 * EINTERRUPTED: it is to end. */
int ot_watch_idle(ot_run *run, optune_err *err);
/* Whether a cost of at least `low` seconds loses against `best` even if all that others took of the
 * time is taken off it. Threads wait at different moments, and all of them wait for each. */
bool ot_loses_anyway(double low, double best, const ot_disturbance *disturbance, int threads);
/* ot_worker_trial and ot_worker_finals, again where the machine was not ours, unless it loses
 * anyway; what stays so is noted among the result's counters. */
int ot_watched_trial(ot_run *run, const ot_trial *trial, ot_arena *arena,
                     ot_trial_result *result, optune_err *err);
int ot_watched_finals(ot_run *run, const ot_trial *trial, int n, double seconds,
                      ot_arena *arena, ot_trial_result *result, optune_err *err);
/* The lines of a record's counters that say so, and back; false: there are none. */
void ot_disturbance_lines(const ot_disturbance *d, ot_text *to);
bool ot_disturbance_of(const char *counters, ot_disturbance *d);
void ot_disturbance_say(const ot_disturbance *d, ot_text *to); /* for people */

/* peaks.c: what the device can do, remembered or, where there is time, measured. */
void ot_peak_begin(ot_run *run);
/* At the end of a run: `fastest` is the most that a kernel (`whose`) did, which the peak cannot be
 * below; 0: none. */
void ot_peak_end(ot_run *run, double fastest, const char *whose);

/* room.c */
/* Bytes of this machine's memory that the workload takes at once; on a GPU its buffers are the
 * device's. */
double ot_room_needed(const optune_call *call, const optune_device *device, double *on_device);
/* What the worker then holds of it: inputs that it need not make again, too. */
double ot_room_held(const optune_call *call, const optune_device *device);
/* ENOMEM, with how much is needed and how much is there. */
int ot_room_check(const ot_run *run, const optune_call *call, optune_err *err);
int ot_room_scratch(const ot_run *run, const optune_plan *plan, optune_err *err);

/* compile_only.c */
/* This machine's device, or the one that the target's options describe. */
int ot_compile_device(ot_run *run, optune_err *err);
int ot_compile_only(ot_run *run, optune_result **result, optune_err *err);

/* tune.c, finals.c */
int ot_tune(ot_run *run, int workload, double seconds, ot_tuned *tuned, optune_err *err);
/* tune_first.c: one trial for each workload from `from` on that has none: the plevel default's
 * fallback. */
int ot_tune_first(ot_run *run, int from, ot_tuned *tuned, optune_err *err);
enum { OT_FINAL_RUNS = 12 }; /* of a finalist, at least: verified, warmed up, in turns */
/* Measures the best of every arm, the plevel default's fallback and the runners-up interleaved, of
 * these the `most` that are fastest. */
int ot_finals(ot_run *run, const optune_task *task, ot_arm *arm, int n, int most,
              double seconds, optune_err *err);

/* finals.c: verified with a second seed and measured interleaved, all at one size; recorded as
 * finals. result[i] belongs to who[i]; texts and samples in the arena. What was not built says so
 * in its outcome and is not recorded. */
int ot_compare(ot_run *run, const ot_contender *who, int n, double seconds, ot_arena *arena,
               ot_trial_result *result, optune_err *err);

/* run.c: optune_run over workloads of constants; `options` as this library knows them. */
#define OT_RUN_SECONDS 150.0 /* of a run that was not told how many */
int ot_run_constants(optune *o, const optune_run_options *options, optune_result **result,
                     optune_err *err);
/* in_graph.c: seconds of a run of so many (negative: no limit) that are kept for the whole graph; 0
 * where there is none to be measured: on targets whose kernels do not run in this process's memory,
 * and under a policy of the handle's own. */
double ot_in_graph_share(const struct optune_partition *partition, double seconds);
/* Until about `end` (ot_now()). */
int ot_in_graph_finals(ot_run *run, struct optune_partition *partition, double end,
                       optune_err *err);
void ot_in_graph_say(const ot_in_graph *told,
                     ot_text *to);                 /* for people; nothing unless done */
json_t *ot_in_graph_json(const ot_in_graph *told); /* new reference */

/* sites.c: until about `end`, where costs would have other sites of the graph computed as one call
 * than a handle that knows none: both take turns, and the faster one is used from then on. */
int ot_sites_finals(ot_run *run, const struct optune_partition *partition, double end,
                    optune_err *err);
void ot_in_sites_say(const ot_in_sites *told, ot_text *to); /* nothing without turns */
json_t *ot_in_sites_json(const ot_in_sites *told);          /* new reference */

/* layouts.c: seconds of a run of so many (negative: no limit) that are kept for other layouts of
 * the graph; 0 where it has none. */
double ot_layouts_share(const struct optune_partition *partition, double seconds);
/* Until about `end`: measures what the groups cost in blocks of channels and what turns values
 * over, chooses for the whole, and has the graph so chosen and the graph as it is take turns. */
int ot_layouts_finals(ot_run *run, struct optune_partition *partition, double end,
                      optune_err *err);
void ot_in_layouts_say(const ot_in_layouts *told, ot_text *to);

/* layouts_turns.c: the whole graph as it is and as in `form` (`blocked`), in turns, until `end`.
 * What was found is recorded where blocks take a smaller part of the plain time than `to_beat`. */
int ot_layouts_turns(ot_run *run, optune_partition *plain, optune_partition *blocked,
                     const ot_blocks *form, double end, double to_beat, ot_layouts *told,
                     optune_err *err);

/* run.c: the device, the worker, the compilers, the logs; `o`, `options` and `op` are set. */
bool ot_run_ends_all(const ot_run *run, int status); /* a failure that no workload has alone */
/* A workload failed for a reason of its own; the run goes on. */
void ot_run_fail_alone(ot_run *run, ot_tuned *tuned, const optune_err *err);
int ot_run_open(ot_run *run, optune_err *err);
void ot_run_close(ot_run *run);

/* baseline.c: the libraries that a table compares with, each under its own name. */
typedef struct ot_baseline {
    char name[256]; /* "OpenBLAS 0.3.21 SkylakeX" */
    char core[256]; /* more than a word: what is to be said of its kernels */
    bool reference; /* the reference BLAS */
    double log_sum;
    int rows;
} ot_baseline;
typedef struct ot_baselines {
    int n;
    ot_baseline item[8];
} ot_baselines;
/* Whether it is the reference BLAS, which nobody wrote to be fast. */
bool ot_baseline_is_reference(const optune_record *library);
void ot_baseline_add(ot_baselines *b, const optune_record *library, double ratio);
/* "; over MKL 2026.2: 1.30x ..."; `first`: nothing has begun the line of means yet. */
void ot_baseline_means(const ot_baselines *b, bool first, ot_text *line);
/* What is to be said of one below the table; nothing of most. */
void ot_baseline_note(const ot_baseline *one, ot_text *line);

/* report.c */
/* `missing`: how many workloads have no time, or failed; the first one's reason is in `why`. */
optune_result *ot_run_result(ot_run *run, const ot_tuned *tuned, int *missing,
                             char why[OPTUNE_ERR_SIZE]);

#endif
