/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's parts, and what keeper and runner say to each other: one order, one report, each a
 * packet of its own. Tensors do not travel in packets but through the tray, memory that both map:
 * inputs on their way in, outputs on their way out.
 */
#ifndef OPTUNE_WORKER_KEEPER_H
#define OPTUNE_WORKER_KEEPER_H

#include <time.h>

#include "run/worker.h"

/* ---- orders and reports ------------------------------------------------------------------ */
typedef enum ot_deed {
    OT_DO_START,    /* nothing: says that target and workload are open */
    OT_DO_WORKLOAD, /* text: the call; file: what compares large inputs, if there are any. A
                       runner that is forked for one candidate knows it */
    OT_DO_LOAD,     /* text: the candidate, as JSON; files: its modules, none: by their paths */
    OT_DO_PUT,  /* `set` -> the inputs in `mask`, of buffers of this kind: those in `fresh` from
                       the tray, the others as the device holds them; reports what it holds then */
    OT_DO_BIND, /* over buffers of this kind; runs what prepacks; with a footprint, constants
                       are other copies in each run from then on */
    OT_DO_TIME, /* `count` runs in turn, over outputs poisoned if `poison`, with
                       numbers if `numbers`, inputs shaken in
                       between (worker_runner.c); with `settle` not before the last one, whose
                       outputs then go to the tray at once, unless they `stay`; with `look`: were
                       inputs and surroundings left alone? */
    OT_DO_FETCH, /* outputs -> tray: what the text names, "OUTPUT OFFSET BYTES;" for each piece */
    OT_DO_UNBIND, /* ends what BIND began */
    OT_DO_COUNTERS,
    OT_DO_UNLOAD,
    OT_DO_PEAK,
} ot_deed;

enum {
    OT_PACKET_BYTES = 64 << 10,
    OT_MOST_SLOTS = 64,
    OT_EXIT_CLOSED = 119, /* of a runner that finds its connection closed */
};

_Static_assert(OPTUNE_MAX_INPUTS <= 64, "inputs are the bits of a word of 64");
typedef struct ot_order { /* a text of the rest of the packet follows */
    uint64_t serial, seed;
    int64_t count, footprint;
    int deed, slot, kind, shakes, set;
    uint64_t mask, fresh;
    bool poison, numbers, settle, stay, look, cold;
    bool pace; /* TIME: how fast the core is, behind the runs */
    bool rest; /* no run follows soon */
} ot_order;

typedef struct ot_report {
    uint64_t seal; /* of the rest, with the runner's secret; first in it */
    uint64_t serial;
    int status;     /* negative: `text` says why */
    int outcome;    /* then: what that makes of the candidate */
    uint64_t held;  /* PUT: inputs of the set that the device holds */
    bool made_room; /* of no set does it hold any that it held before: there was no room */
    double seconds;
    double
        real[3]; /* TIME: with shaking, restoring in front of runs, and the core's pace (0: not
                    asked); PEAK: flops, bandwidth, tensor */
    char text[OPTUNE_TEXT_SIZE], why[OPTUNE_WHY_SIZE];
} ot_report;

/* The secret, and what is sealed with it, in pages that only sending and checking may touch. */
typedef struct ot_seal {
    uint8_t key[32];
    ot_report report;
} ot_seal;
uint64_t ot_seal_of(const ot_seal *seal);

/* ---- worker_shake.c: no timed run has the inputs of the one before ------------------------ */
enum { OT_MOST_SHAKES = 64, OT_WIDEST = 16 };
typedef struct ot_shaken {
    char *base;
    int64_t elements, at[OT_MOST_SHAKES];
    size_t size;
    char kept[OT_MOST_SHAKES][OT_WIDEST];
} ot_shaken;
typedef struct ot_shaker {
    int64_t left; /* runs to come that are shaken, this one included */
    int n, times, done;
    uint64_t rng;
    ot_shaken input[OPTUNE_MAX_INPUTS];
} ot_shaker;

void ot_shaker_open(ot_shaker *s, const ot_session *session, const ot_order *order);
optune_launch ot_shaker_launch(ot_shaker *s); /* to be in front of what is timed */
void ot_shaker_settle(ot_shaker *s);          /* every element its own value again */
/* Seconds that shaking adds to a run, measured with nothing behind it. */
double ot_shaker_cost(const ot_session *session, const ot_order *order);

/* worker_packet.c: one packet with `n_files` open files in it, at most OPTUNE_MAX_MODULES. */
bool ot_packet_send(int fd, const void *packet, size_t n, const int *file, int n_files);
/* As recv(); `file` has room for OPTUNE_MAX_MODULES, which are the caller's to close. */
ssize_t ot_packet_take(int fd, void *packet, size_t size, int flags, int *file, int *n_files);

/* ---- worker_inputs.c: what goes in, and what should come out ------------------------------ */
typedef struct ot_inputs {
    optune_call call;
    uint64_t seed;
    int64_t in_at[OPTUNE_MAX_INPUTS], out_at[OPTUNE_MAX_OUTPUTS]; /* in the tray */
    int64_t in_bytes, out_bytes;                                  /* altogether */
    void *kept[OT_SETS][OPTUNE_MAX_INPUTS]; /* NULL: large, made again each time */
    ot_reference reference[OT_SETS];
    uint64_t variable, all; /* inputs as bits: not constant; every one */
    int threads;            /* that make and copy them */
} ot_inputs;
/* References into `path` and files beside it, where they are not there already. ENOMEM before
 * anything is touched when the workload is too large for this machine. `where`: the target and
 * device that an operator's `standard` may need, and who waits for it; NULL: there are none. */
int ot_inputs_open(ot_inputs *in, const char *call, uint64_t seed, const char *path,
                   int threads, const ot_reference_limits *where, optune_err *err);
void ot_inputs_close(ot_inputs *in);
/* The inputs in `mask`, each at its place in the tray. */
void ot_inputs_put(const ot_inputs *in, ot_set set, uint64_t mask, char *tray);

/* ---- worker_runner.c: the process in which candidates run, from inside ------------------- */
typedef struct ot_runner_setup {
    const optune_target *target;
    const optune_device *device;
    const char *call; /* NULL: told later */
    char *tray;
    pid_t keeper, client;
    bool once;     /* for one candidate */
    int64_t bytes; /* of the workload's tensors */
} ot_runner_setup;
/* worker_fence.c: keeps it from other processes; `above` are those that run it. */
void ot_runner_fence(const pid_t *above, int n);
_Noreturn void ot_runner_main(int fd, ot_seal *seal, const ot_runner_setup *setup);

/* ---- worker_runs.c: the same from outside ------------------------------------------------ */
typedef struct ot_runner {
    pid_t pid; /* 0: none */
    int fd, pidfd;
    clockid_t clock; /* of the time that all its threads computed, ended ones included; */
    bool clocked;    /* is it known? */
    int waits;       /* /proc/PID/schedstat, open; -1: not there; */
    int own_waits;   /* and that of who started it */
    int modules;     /* loaded by it */
    uint64_t serial;
    ot_seal *seal;  /* not in the memory of what is forked */
    char *state;    /* what it may not change, as it was when fresh; NULL: not looked at */
    int status;     /* as waitpid gives it, once it ended */
    char word[512]; /* its last one; empty: none */
} ot_runner;
typedef enum ot_end { /* why there is no report */
                      OT_END_NONE,
                      OT_END_DIED,
                      OT_END_LATE,    /* the deadline passed */
                      OT_END_STOPPED, /* it was stopped, and nobody will let it go on */
                      OT_END_FORGED,  /* something else came than its report */
                      OT_END_CLOSED,  /* it closed its connection */
                      OT_END_ALONE,   /* the asking process is gone */
} ot_end;
int ot_runner_start(ot_runner *r, const ot_runner_setup *setup, optune_err *err);
typedef struct ot_enclosed { /* in an order's packet, behind it */
    const char *text;
    const int *file; /* open files; the runner has them from then on, too */
    int n_files;     /* <= OPTUNE_MAX_MODULES */
} ot_enclosed;
typedef struct ot_spent { /* seconds */
    double wall;
    double cpu;    /* of all threads of the runner; 0 where that is not told */
    double waited; /* its first thread, which has the orders, for a core; 0 likewise; what it
                      waited before is in it unless it rested */
    double kept;   /* the asking thread, for a core; 0 likewise */
} ot_spent;
/* Sends an order, with what is enclosed (NULL: nothing), and waits for its report, until ot_now()
 * is `deadline` or the other end of `asker` closes; *spent: how long that took. Other than
 * OT_END_NONE: the runner is of no use any more. */
ot_end ot_runner_ask(ot_runner *r, ot_order *order, const ot_enclosed *enclosed,
                     double deadline, int asker, ot_report *report, ot_spent *spent);
/* Waits until it sleeps, as it does soon after a report. false: there is always something for it to
 * do, or no core to do it on. */
bool ot_runner_rest(const ot_runner *r);
/* What the processes did that it started and waited for. */
typedef struct ot_children {
    double cpu;  /* seconds, to a hundredth */
    long faults; /* of pages: there is no process without any */
} ot_children;
ot_children ot_runner_children(const ot_runner *r);
/* By force, with all processes that it or theirs started; `others` are runners that go on. Returns
 * how many of those there were. */
int ot_runner_end(ot_runner *r, const ot_runner *others, int n_others);
/* Between two candidates: false, with what, when the last one changed its process. */
bool ot_runner_unchanged(ot_runner *r, char *what, size_t size);
/* ---- worker_threads.c -------------------------------------------------------------------- */
/* Whether a process may have as many threads as candidates have.
 * A library that gets too few ends its process, which is no candidate's fault. */
int ot_runner_threads(int threads, optune_err *err);
/* How it ended, in a few words, with what it did at the time. */
void ot_runner_end_text(const ot_runner *r, ot_end end, const char *doing, char *text,
                        size_t size);
bool ot_runner_was_killed(const ot_runner *r, ot_end end); /* by somebody, it seems */

#endif
