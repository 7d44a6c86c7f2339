/* SPDX-License-Identifier: Apache-2.0 */
/* One candidate as the keeper sees it: what is ordered for it, and what that makes of it. */
#ifndef OPTUNE_WORKER_CONTEST_H
#define OPTUNE_WORKER_CONTEST_H

#include "run/worker/worker_keeper.h"

/* Every one of a request's; open files, of which a process has 1024 at most by default. */
enum { OT_HELD = OT_MOST_SLOTS * OPTUNE_MAX_MODULES };
typedef struct ot_held { /* a module */
    char *path;          /* NULL: none */
    int fd;              /* -1: this machine has no sealed files, it is loaded by its path */
    uint64_t used;
} ot_held;

typedef struct ot_keeper {
    int fd; /* to the asking process */
    bool open, ready;
    bool gone;                       /* the asking process is */
    bool fresh;                      /* every candidate has a runner of its own */
    const optune_target_worker *row; /* the target's */
    optune_target target;
    optune_device device;
    char *tray, *call;
    int64_t tray_bytes;
    json_t *edited; /* operators whose files are not what the asker read, and their paths */
    ot_inputs inputs;
    ot_runner runner[OT_MOST_SLOTS]; /* the first one may be lasting */
    bool told;                       /* the lasting one knows the workload */
    uint64_t stocked[OT_SETS];       /* inputs of each set that its device holds */
    int same;                        /* an open file: what compares large ones of them; */
    bool same_tried;                 /* -1 when this is set: it cannot be had */
    ot_held held[OT_HELD];
    uint64_t uses;
    optune_err refused; /* what the machine refused to this request; status 0: nothing */
    int at;             /* the finalist that was announced last, */
    double at_time;     /* and when */
} ot_keeper;

typedef struct ot_contestant {
    ot_keeper *keeper;
    ot_runner *runner;
    const json_t *request;
    const optune_impl *impl;
    const ot_measure_policy *policy;
    int index, slot; /* in the finals; index -1: a trial */
    double limit_s, deadline;
    const char *doing;
    int outcome;
    bool lost, killed; /* its runner is; by somebody's kill */
    bool preparing;    /* what is verified before anything is measured */
    double error;
    char text[OPTUNE_ERR_SIZE];
    char counters[OPTUNE_TEXT_SIZE], why[OPTUNE_WHY_SIZE];
    uint64_t own[OT_SETS]; /* inputs that were brought to the device for it; */
    bool leans;            /* it got some that were held there since another one's turn */
    uint64_t rng;
    int shakes;          /* in front of each timed run */
    int turns, look_at;  /* times measured; when it is looked at in between */
    ot_spent spent, row; /* by its rows of runs, and by the last of them */
    double apart; /* seconds in front of a run, that restore what it changes; 0: nothing */
    double lasted;
    bool paced; /* the row at hand is a sample, behind which the core's pace is measured: */
    double pace[OT_MAX_SAMPLES]; /* seconds */
    int n_paces;
} ot_contestant;

/* ---- worker_contest.c -------------------------------------------------------------------- */
/* To the asking process: what begins now. `alone`: waits until nothing else runs. */
void ot_keeper_say(ot_keeper *k, const char *doing, bool alone, const ot_runner *runner);
/* The measurement is over, and its runners are still there to be looked at by the other side: waits
 * until that was done. */
void ot_keeper_measured(ot_keeper *k);
/* A runner that is ready, for this slot. */
int ot_keeper_runner(ot_keeper *k, int slot, ot_runner **runner, optune_err *err);
/* Loads, verifies with the far and the true inputs, and binds for timing. A negative status is no
 * candidate's. */
int ot_contest_prepare(ot_contestant *c, optune_err *err);
double ot_contest_time(void *contestant, int64_t count); /* an ot_timer */
/* Seconds that its last runs took, with what is done in front of each. */
double ot_contest_lasted(void *contestant);
/* Once per turn: tells whose it is. */
void ot_contest_announce(ot_contestant *c);
/* Timed runs in a row; *lag: the keeper's time less what was reported, shaking and what is done in
 * front of each run included. `judged`: over outputs with nothing in them, and what the last one
 * left goes to the tray. */
bool ot_contest_row(ot_contestant *c, int64_t count, bool judged, double *seconds, double *lag);
/* One run over near inputs in place of the true ones, whose answer is still in the outputs, and one
 * over these again. */
bool ot_contest_look(ot_contestant *c);
/* What a run left in the outputs of this kind, against what this set's answer is: all of it, or
 * about `most` elements. */
enum { OT_SPOT_ELEMENTS = 64 << 10 };
/* Whether what says what is right leaves elements of a set's outputs as they were. */
bool ot_contest_leaves(const ot_contestant *c, int set);
bool ot_contest_judge(ot_contestant *c, ot_set set, int kind, int64_t most);
/* worker_verdict.c: what is asked of one that was measured before its time is believed. */
void ot_contest_verdict(ot_contestant *c, const ot_measured *m);
/* Events of one run where the target counts them, and how many rounds its samples leave out. */
void ot_contest_counters(ot_contestant *c, const ot_measured *m);
/* In front of what else a trial tells, how fast the core was: see ot_speed_take. */
void ot_contest_pace(ot_contestant *c);
/* Ends it, and its runner where it had one of its own. */
void ot_contest_end(ot_contestant *c);
/* worker_modules.c: reads the modules of a candidate that are not held yet. */
void ot_modules_hold(ot_keeper *k, const json_t *candidate);
/* Their files in the plan's order; *n is 0 where they are to be loaded by path. false: one is not
 * held, as it was not what was built when it was read. */
bool ot_modules_files(ot_keeper *k, const json_t *candidate, int *file, int *n, char *why,
                      size_t size);
/* Builds what compares large inputs of the workload, if it has such, once for all; returns how many
 * files (0 or 1) a runner gets for it. */
int ot_modules_same(ot_keeper *k, int *file);
void ot_modules_close(ot_keeper *k);
/* worker_limits.c: seconds that no device needs less than for one run; what rules it out in
 * `why`. */
double ot_least_seconds(const optune_call *call, const optune_device *device, char *why,
                        size_t size);

#endif
