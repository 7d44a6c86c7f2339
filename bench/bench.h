/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benches share: options, a handle, "ours" (the selected template of a workload, in
 * this process), and comparing two timers. A bench is a program: what fails prints one line and
 * exits with 1; a peer that is not there exits with 77.
 *
 * The one idea: ours and the peer run in turn in one process, on the same cores, and each round
 * gives one ratio. Whatever drifts (clock rate, neighbours) hits both, so ratios are kept, not
 * times.
 */
#ifndef OPTUNE_BENCH_H
#define OPTUNE_BENCH_H

#include "answer/answer.h"
#include "run/worker.h"

enum { BENCH_MOST = 128, BENCH_MISSING = 77 };

/* ---- bench.c: the program ---------------------------------------------------------------- */

typedef struct bench_option { /* one that only this bench has */
    const char *name, *argument, *help;
    const char **value;
} bench_option;

typedef struct bench_about {
    const char *name, *summary;
    const char *op;       /* of the default workloads; NULL: any op is accepted */
    const char *other_op; /* also accepted; NULL: none */
    const char *preset;   /* the default; NULL: then `workload` is */
    const char *workload;
    int threads;                  /* the default */
    double seconds;               /* tuning one workload, at most, when --time is not given */
    int rows;                     /* of one workload: its share of the time; 0: 1 */
    const bench_option *options;  /* ends at a NULL name; NULL: none */
    const char *const *workloads; /* the default where `op` is NULL; NULL-terminated */
} bench_about;

typedef struct bench {
    const bench_about *about;
    int threads, rounds;
    int trials; /* of one row, at most */
    bool tune;
    bool time_given; /* --time: known workloads are tuned again, too */
    double seconds;  /* tuning one row */
    int n;
    char *workload[BENCH_MOST]; /* canonical texts */
    char db[4096], target[OPTUNE_NAME_SIZE];
    optune *o;
    ot_session session; /* open while measuring */
    int lock;
} bench;

/* Parses the command line, opens the handle, finds the device. --help ends the program. */
void bench_open(bench *b, const bench_about *about, int argc, char **argv);
void bench_close(bench *b);
_Noreturn void bench_die(const char *format, ...) OPTUNE_PRINTF(1, 2);
_Noreturn void bench_missing(const char *why); /* exits with 77 */

/* The canonical text without attributes at their defaults: as short as it can be read. */
void bench_label(const optune_call *call, char *to, size_t size);

/* A library's functions as its target opens it: `n` of these names into `to`, NULL where one behind
 * the first `needed` is not there. Where one of those is not, false, and why is in `text`. */
bool bench_symbols(const bench *b, const char *library, const char *const *names, int n,
                   int needed, void **to, char *text, size_t size);

/* ---- comparing --------------------------------------------------------------------------- */

typedef struct bench_row {
    ot_interval ours, peer; /* seconds of one run */
    ot_interval ratio;      /* of speeds: the peer's time over ours, round by round */
} bench_row;
/* Both must already have run once. Timers return the seconds of `count` runs. */
bench_row bench_compare(const bench *b, ot_timer ours, void *ours_arg, ot_timer peer,
                        void *peer_arg);
/* Ours and several in turn, all in every round; a row for each. */
void bench_compare_all(const bench *b, ot_timer ours, void *ours_arg, ot_timer peer,
                       void *const *peer_arg, int n, bench_row *row);
/* Index of the fastest of several, measured interleaved. */
int bench_fastest(ot_timer timer, void *const *arg, int n);

typedef struct bench_table {
    int n;
    double median[BENCH_MOST], low[BENCH_MOST], high[BENCH_MOST];
} bench_table;
void bench_heading(const bench *b, const char *peer);
void bench_columns(const char *ours, const char *peer, const char *ratio);
void bench_print(bench_table *table, const char *label, const bench_row *row, const char *how);
/* `geomean R low L high H`, after `title` and ": " when there is one. */
void bench_geomean(const bench_table *table, const char *title);

/* ---- ours.c: the best template of a workload --------------------------------------------- */

typedef struct bench_ours {
    char *call;
    const optune_impl *impl;
    optune_config config;
    double cost; /* the record's; infinity: untuned */
    ot_job *job; /* done */
    bench *bench;
    ot_loaded *loaded;
    ot_bound *bound;
} bench_ours;

/* Whether a current record says what is best. */
bool bench_known(bench *b, const char *workload);
/* Tunes what is not known yet (or everything, with --time) over all generated templates;
 * returns how many workloads that were. Before bench_measuring. */
int bench_tune(bench *b, char *const *workload, int n, double seconds);
/* What optune_select says, built. Before bench_measuring. */
void bench_select(bench *b, const char *workload, bench_ours *ours);

/* From here on this process is bound to its cores and holds the device's lock. */
void bench_measuring(bench *b);
/* Makes the workload's buffers: inputs, outputs, reference. Releases the one before. */
void bench_buffers(bench *b, const char *workload);
/* Loads, verifies and binds over the buffers of its workload. */
void bench_bind(bench_ours *ours);
void bench_unbind(bench_ours *ours);
double bench_ours_time(void *ours, int64_t count); /* an ot_timer */
/* "conv2d_direct.cpu tile=[1,8] ..." */
void bench_ours_how(const bench_ours *ours, char *to, size_t size);
/* Whether what a peer left in the aligned outputs is right, by the bound of `impl`; dies if
 * not. */
void bench_check(bench *b, const char *impl, const char *peer);

/* A whole program that has one row per workload and knows its peer without a library: tunes,
 * selects, and lets `run` print each row. `columns`: ours, the peer, their ratio. */
typedef void (*bench_run)(bench *b, bench_ours *ours, bench_table *table);
int bench_main(int argc, char **argv, const bench_about *about, const char *heading,
               const char *const columns[3], bench_run run);

/* Source of the target's language to a loaded module, compiled as candidates are. */
void *bench_module(bench *b, const char *source);
typedef struct bench_function { /* of such a module */
    void (*run)(void *const *arg);
    void *arg[8];
} bench_function;
void bench_function_of(bench *b, void *module, const char *name, bench_function *f);
double bench_function_time(void *f, int64_t count); /* an ot_timer */

#endif
