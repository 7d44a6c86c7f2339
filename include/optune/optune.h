/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program calls. A handle joins a target, a database directory and the registered rows;
 * it may be used by several threads at once for query and select. Nothing here prints, exits or
 * installs a signal handler. Every function that can fail returns an optune_status, 0 or
 * positive for success, and fills `err` (may be NULL) on failure.
 *
 * A handle, a text or a place for a result that is NULL is EUSAGE, and `err` names it, unless a
 * function says what NULL means. Functions without a status then return what says nothing: NULL,
 * 0 of a count, -1 of a number, infinity of a time. Results are set to NULL on failure.
 *
 * A struct that begins with `size` has there what sizeof gave its caller, and is zero where
 * nothing is asked for. A shorter one, of an older header, is met as if the fields that it lacks
 * were zero; of a longer one, of a newer header, what is behind the fields known here has to be
 * zero, else the call is EVERSION. One that is filled is filled as far as it reaches, and zero
 * behind.
 *
 * Whatever locale and floating-point environment the calling thread has (rounding, denormals,
 * traps), numbers are read, printed and computed as in a process's first ones, in callbacks, too;
 * the thread's own are back when a function returns. Asking (open, select, query, list) takes
 * 512 KiB of a thread's stack, all else 1 MiB.
 */
#ifndef OPTUNE_OPTUNE_H
#define OPTUNE_OPTUNE_H

#include "optune/types.h"

#ifdef __cplusplus
extern "C" {
#endif

OPTUNE_API const char *optune_version(void); /* "0.1.0" */

typedef struct optune optune;

typedef enum optune_log_level {
    OPTUNE_LOG_ERROR,
    OPTUNE_LOG_WARNING,
    OPTUNE_LOG_INFO,
    OPTUNE_LOG_DEBUG,
} optune_log_level;

typedef struct optune_options {
    size_t size;        /* sizeof(optune_options) */
    const char *target; /* NULL: "cpu" */
    const char *db;     /* "DIR[:DIR...]": the first is written, the others are consulted when
                           those before them have no answer; NULL: $OPTUNE_DB. An empty
                           first one: $XDG_DATA_HOME/optune, else $HOME/.local/share/optune */
    const char
        *device; /* answer for this stored device key instead of probing; NULL: this machine */
    const char *const
        *plugins; /* paths, NULL-terminated; NULL: those of $OPTUNE_PLUGINS, ':'-separated */
    optune_log_level log_level; /* messages above it are not made */
    /* NULL: dropped. The thread that has something to say calls it, which during an import may be
       one of the handle's own beside the caller's: it has to stand two at once. */
    void (*log)(void *arg, optune_log_level level, const char *text);
    void *log_arg;
    const char
        *policy; /* how runs measure, and whose records answer: "warm"; "cold": before every
                           run the caches are flushed; "model-<N>M": constants come from where a
                           model of N MiB (a power of two up to 1024) finds them, as so much else
                           is touched between two uses; NULL: "warm" */
} optune_options;

/* Opens lazily: the device is probed and the store opened by the first call that needs them. */
OPTUNE_API int optune_open(const optune_options *options, optune **handle, optune_err *err);
OPTUNE_API void optune_close(optune *handle); /* NULL is fine */
/* Asks a running optune_run to end soon; everything measured so far is stored and optune_run
 * returns OPTUNE_EINTERRUPTED with a result; the handle may be used on. Async-signal-safe. */
OPTUNE_API void optune_interrupt(optune *handle);

/* ---- results: what a command says, readable and as JSON ---------------------------------- */

typedef struct optune_result optune_result;
OPTUNE_API const char *
optune_result_text(const optune_result *result); /* owned by the result */
OPTUNE_API const char *optune_result_json(const optune_result *result); /* one JSON document */
/* The objects of the result's document as a table, the text of *table, which the caller frees:
 * `form` is "csv", "markdown" or "text", where plain members are the columns; or "names", what
 * each is called alone, one a line. EUSAGE: no such form. */
OPTUNE_API int optune_result_table(const optune_result *result, const char *form,
                                   optune_result **table, optune_err *err);
OPTUNE_API void optune_result_free(optune_result *result); /* NULL is fine */

/* ---- tuning ------------------------------------------------------------------------------ */

typedef struct optune_progress {
    const char *phase; /* "starting", "preparing", "searching", "waiting", "finals", "done" */
    int workload, workloads; /* 1-based, and how many; 0: none of them yet */
    const char *call;        /* its canonical text */
    const char *impl;        /* of the trial that just ended; NULL: none */
    int trial, trials;       /* done for this workload, and its budget */
    double best;             /* seconds; infinity: none yet */
    const char *best_impl;   /* NULL: none yet */
    double flops;            /* operations of the workload */
    int failures;            /* in this run */
    double left;      /* seconds until the time limit or the estimated end; negative: unknown */
    const char *note; /* something to tell once; NULL: nothing */
    bool unitless;    /* `best` is no time: what is minimised is another number */
} optune_progress;

typedef struct optune_run_options {
    size_t size;
    const char *op;               /* NULL: the workloads may be of several operators */
    const char *const *workloads; /* canonical texts, NULL-terminated; NULL: the preset's */
    const char *preset;           /* NULL: the op's first, when there are no workloads */
    const char *const *impls;     /* only these, NULL-terminated; NULL: all */
    const char *search;           /* NULL: the default */
    int trials;                   /* per workload; 0: the default */
    double seconds;               /* whole run; 0: the default; negative: no limit */
    uint64_t seed;
    bool again;      /* measure known configs once more */
    const char *log; /* also append every record to this file; NULL: no */
    void (*progress)(void *arg, const optune_progress *progress); /* NULL: none */
    void *progress_arg;
    bool
        compile_only; /* build `trials` configs of each workload and say what they use; measures
                          and stores nothing; needs no device where the target names an -arch */
    const char *table;  /* the result's text is a table: "csv", "markdown", or "text": NULL */
    int width;          /* columns that a text fits into; 0: as wide as it wants */
    const char *policy; /* measured and recorded so; NULL: the handle's (optune_options) */
    /* The graph whose workloads these are: at the end, in up to a tenth of the time, the best few
     * of each are timed in it while it runs, and recorded as measured there; NULL: none. */
    struct optune_partition *graph;
    bool no_transfer; /* a search knows nothing of other workloads' and devices' records */
    /* "NAME=EXPR", NULL-terminated: figures of each winner, over what was measured and what the
     * call and its config say (docs/tune.md, *Metrics*). ESYNTAX, EUSAGE: one that cannot be read,
     * or names what is not there. NULL: none. */
    const char *const *metrics;
} optune_run_options;

/* Tunes. *result is set on OPTUNE_OK, on EPARTIAL (a workload has no time or failed: its row says
 * why, and the others went on) and on EINTERRUPTED; on other failures where something had been
 * measured before, else it is NULL. The caller frees it. ENOENT names an operator, preset,
 * implementation or search that is not there; EUSAGE a workload that is no call of `op` or has
 * unknown dims, fewer trials than 0, seconds that are no number; ENODEV: the target has no device
 * here. */
OPTUNE_API int optune_run(optune *handle, const optune_run_options *options,
                          optune_result **result, optune_err *err);

/* What optune_run found, row by row: a workload each, as its document and its text say. Everything
 * in it ends with the result. */
typedef struct optune_run_row {
    size_t size;
    const char *call;              /* canonical */
    const char *label;             /* for the eye: shapes, and what is not at its default */
    const optune_record *winner;   /* what would be selected now; NULL: nothing that may be was
                                      measured */
    const optune_record *fallback; /* what would be used untuned; NULL: not measured */
    const optune_record *library;  /* the fastest library; NULL: none */
    const optune_record
        *known; /* the fastest of all, whether it may be selected or not; NULL */
    int n_ties;
    const optune_record *const *ties; /* whose interval overlaps the winner's */
    const char *library_name;         /* "OpenBLAS 0.3.21 SkylakeX"; NULL: none */
    double flops, bytes;              /* of one run; 0: not counted */
    bool moves;     /* less than one operation a byte: its rate is of bytes, not operations */
    bool effective; /* the winner does fewer operations than its rate counts */
    double rate;    /* the winner's, in a second; 0: unknown */
    double share;   /* of the measured peak; 0: unknown. Above 1 where the data stays in caches,
                       where mostly is read and the peak is of copies, or of an effective rate */
    double disturbed; /* the share of the time in which the machine was another's; negative: not
                           at all */
    int trials;       /* of this question, stored ones included */
    int new_trials;   /* of this run */
    int64_t space;    /* configs in all spaces together */
    int failures[16]; /* trials by optune_outcome_kind; 0 of OPTUNE_OUTCOME_OK */
    const char *problem; /* why it ended early, or has no winner; NULL: fine */
    const char
        *standard; /* what outputs are compared with, or who judges them, where that is not
                             the operator's own reference; NULL */
    const char *op;
    const char *disturbance; /* whose the machine was while its figures were measured; NULL: ours */
    bool reference; /* the library is a reference implementation: no baseline for speed */
    bool judged;    /* `standard` is a program that judges */
    bool failed;    /* it ended early, for `problem` */
    double absolute, relative; /* how far from `standard` an output may be: the sum of both */
    const double
        *metrics; /* total's n_metrics, of the winner; NaN: what one needs is not known */
    const char *minimised; /* what a cost is: "time" of one run, "its wall time", "1/rate" */
    bool unitless;         /* and it is not in seconds */
    bool cached;           /* the data stays in caches, which are faster than the peak */
    int64_t unwritten;     /* elements of outputs that `standard` leaves: no more is known of
                              them; negative: it was not run, or there is none */
} optune_run_row;
/* The run as a whole. */
typedef struct optune_run_total {
    size_t size;
    const char *op; /* NULL: of several */
    const char *target, *device, *search;
    int workloads, new_trials, failures;
    bool interrupted;
    double seconds;
    double peak_flops, peak_bandwidth; /* measured, in a second; 0: not known */
    const char *counters_why;          /* why there are no counters; NULL: there are */
    const char *disturbance; /* whose the machine was while this was measured; NULL: ours */
    const char *device_name; /* for the eye; `device` is its key */
    int threads;             /* 0: the target has none to choose */
    int n_metrics;
    const char *const *metrics; /* their names */
    double peak_tensor; /* FLOP/s of bfloat16 on tensor cores; 0: not known, or it has none */
} optune_run_total;
/* Fills *row with row `index`, from 0 on, and returns 1 behind the last; of results of other calls,
 * and of `compile_only`, there are none. */
OPTUNE_API int optune_result_row(const optune_result *result, int index, optune_run_row *row,
                                 optune_err *err);
/* 1: it is no result of a run. */
OPTUNE_API int optune_result_total(const optune_result *result, optune_run_total *total,
                                   optune_err *err);

/* ---- what was measured, once more --------------------------------------------------------- */

typedef struct optune_verify_options {
    size_t size;
    const char *const
        *what;      /* operators and workloads, NULL-terminated; NULL: all that is stored */
    double seconds; /* all together; 0: the default of optune_run, or none with `idle`;
                                negative: no limit */
    int sample;     /* at most so many winners; 0: all */
    uint64_t seed;  /* of the inputs; unless 0, who is in the sample is drawn by it, else
                                whose measurement is oldest is */
    double max_age; /* days; who was measured within them is left alone; 0: nobody is */
    bool idle;      /* begins no measurement before the cores are idle */
    void (*progress)(void *arg, const optune_progress *progress); /* NULL: none */
    void *progress_arg;
} optune_verify_options;

/* Measures what is selected of this target, device and policy once more, as the finals of a run
 * do, and stores it: the newest measurement of a config counts. Where the best one's cost moved or
 * it failed, whoever is selected then is measured, too, so that figures of one day are compared.
 * The result's document has an object for each in "winners": its "status" is "holds", "moved",
 * "wrong", "does not build", "stale" or "not measured", with "then" and "now" (seconds and their
 * interval) and the "reason". *result is set on OPTUNE_OK, EINTERRUPTED (what was measured is
 * stored), and EPARTIAL: something is "wrong". ENOENT: nothing is stored that could be measured, or
 * no operator has such a name; ESYNTAX, ETYPE: no workload; EUSAGE: the handle answers for another
 * device; ESTORE, EIO: the database cannot be written. The caller frees the result. */
OPTUNE_API int optune_verify(optune *handle, const optune_verify_options *options,
                             optune_result **result, optune_err *err);

/* ---- kernels of one's own ---------------------------------------------------------------- */

/* What a kernel's file, a source or a T1, says of itself for one workload. */
typedef struct optune_brought {
    size_t size; /* sizeof(optune_brought) */
    char op[OPTUNE_NAME_SIZE], impl[OPTUNE_NAME_SIZE];
    char target[OPTUNE_NAME_SIZE];   /* whose language it is in: "cpu", "opencl", "cuda" */
    char workload[OPTUNE_TEXT_SIZE]; /* the call of the sizes that the file names; empty: it is
                                        longer, optune_list_preset has it */
    char reference[OPTUNE_WHY_SIZE]; /* what its outputs are compared with, for people */
    double absolute, relative; /* and how near they must be; negative: usual for each type */
    double combinations;             /* of all knobs' values */
    int64_t valid;     /* of these, as far as constraints tell; a device may refuse more */
    int64_t undefined; /* for so many a constraint cannot be computed; they are not valid */
    bool counted;      /* false: there are more valid ones, and no time to count them */
} optune_brought;

/* Reads a kernel's file (docs/tune.md): from then on its operator is one more in this process. A
 * path among the plugins of optune_open does the same. `workload` NULL: the file's. ESYNTAX and
 * ETYPE: what is wrong, with its place; ECONFLICT: the operator's name is taken; ENOENT: no such
 * file, or no config is valid, with the constraints that refuse them. */
OPTUNE_API int optune_bring(const char *path, const char *workload, optune_brought *brought,
                            optune_err *err);
/* A program to be tuned, see docs/tune.md. Texts are as in a .tune file, lists end with NULL; NULL:
 * none. */
typedef struct optune_command {
    size_t size;                /* sizeof(optune_command) */
    const char *const *command; /* its words; required */
    const char *const *knobs;   /* "threads=1,2,4", or "threads=[2**i for i in range(4)]" */
    const char *const *sizes;   /* "N=1024": attributes of the call */
    const char *const *where;   /* constraints */
    const char *const *env;     /* "OMP_NUM_THREADS={threads}" */
    const char *const *reads;   /* patterns: "time: {time} s" */
    const char *const *depends; /* files whose bytes decide what it does, too */
    const char *build, *check;  /* commands */
    const char *objective;      /* an expression; NULL: time */
    const char *name;           /* of its operator; NULL: the program's */
    double timeout;             /* seconds of one run; 0: 10 */
    bool same_output;           /* each config has to print what the default one prints */
} optune_command;

/* Writes the program's declaration beside the database that optune_options.db names (NULL: the
 * default one), as PATH, which is then brought like any file: optune_bring. EUSAGE and ESYNTAX: it
 * cannot be declared so. */
OPTUNE_API int optune_declare(const char *db, const optune_command *program, char *path,
                              size_t size, optune_err *err);
/* Has this handle's runs know a brought file, and notes beside the database where it is, so that
 * every later handle on this database knows its operator. */
OPTUNE_API int optune_remember(optune *handle, const char *path, optune_err *err);
/* The config that would be used for a workload, as text of this format: "header" (C macros),
 * "json", "csv". */
OPTUNE_API int optune_best_config(optune *handle, const char *workload, const char *format,
                                  optune_result **result, optune_err *err);

typedef struct optune_simulate_options {
    size_t size;
    const char *const *files; /* Kernel Tuner caches or T4 results, NULL-terminated; or NULL */
    const char *const *searches; /* NULL-terminated; NULL: the default of optune_run */
    int repeats;                 /* of each search on each space; 0: the default */
    uint64_t seed;               /* of the first; the others count on */
    void (*progress)(void *arg, const optune_progress *progress); /* NULL: none */
    void *progress_arg;
    bool transfer;    /* every space learns from the others of the same kernel */
    const char *plot; /* also write performance over time to this file, as SVG; NULL: no */
    /* What was measured here, as spaces, too: of `log`, one of ours, else of the database; of this
     * call, or, of a log, of all (NULL). An implementation with fewer than 20 configs that ran is
     * left out and named. ENOENT: none serves, with how many configs there are. */
    const char *workload, *log;
    int trials; /* of a run, and what counts is the best of them; 0: time, and the score */
} optune_simulate_options;

/* Replays searches on recorded spaces and scores them: docs/search.md. EUNSUPPORTED: gnuplot, which
 * draws `plot`, is not there; where that file cannot be written in the end, *result is set
 * nevertheless. ENOENT, ESYNTAX, ELIMIT: a
 * file that cannot be read, with what is wrong where, or no such search. */
OPTUNE_API int optune_simulate(optune *handle, const optune_simulate_options *options,
                               optune_result **result, optune_err *err);

/* ---- asking ------------------------------------------------------------------------------ */

/* The best current record of a workload. All texts and samples in it are its own: it outlives the
 * handle and changes in the database, until it is freed. */
typedef struct optune_found {
    optune_record record;
    const char *tier; /* "tuned", or "unverified": whether it still holds cannot be told here */
    const char *doubt; /* of an unverified one, what cannot be told; NULL: nothing */
    double flops;      /* operations of one run of the workload; 0: they are not counted */
    const char *minimised; /* what the cost is, if not seconds: "1/rate"; NULL: it is seconds */
} optune_found;
/* The caller frees *found. ENOENT: there is none; the message names what is stale and why. */
OPTUNE_API int optune_query(optune *handle, const char *workload, optune_found **found,
                            optune_err *err);
OPTUNE_API void optune_found_free(optune_found *found); /* NULL is fine */
/* What optune_query found as a document (schema: docs/formats.md), and no text; the caller frees
 * the result. */
OPTUNE_API int optune_found_json(const optune_found *found, optune_result **result,
                                 optune_err *err);
/* The values of a config's knobs for people: "tile_x=[1,8] unroll=true". ELIMIT: they do not fit;
 * into 16 KiB they always do. */
OPTUNE_API int optune_config_write(const optune_config *config, char *text, size_t size,
                                   optune_err *err);

/* Of what a report is: exactly one of the three is given. */
typedef struct optune_report_options {
    size_t size;
    const char *const *workloads; /* NULL-terminated; constant sizes */
    const char *op; /* every workload of it that has records of this device and policy */
    struct optune_partition *partition; /* every workload of this graph (graph.h) */
    const char *title;                  /* kept in the document; NULL: none */
} optune_report_options;
/* What is stored of workloads, to draw from: history, finalists' samples, what knobs explain,
 * what was chosen and why, the peak. The result's JSON is docs/formats.md's `optune_report`, its
 * text a line or two for each workload; the caller frees it. Measures nothing. Of long histories a
 * part is given. ENOENT: nothing is stored; EUSAGE: a dim is not constant. */
OPTUNE_API int optune_report(optune *handle, const optune_report_options *options,
                             optune_result **result, optune_err *err);
/* The JSON of such a document as a page in the file `path`, which opens offline; whole or not at
 * all. bytes, unless NULL: how large it is. EUNSUPPORTED: there is no Chart.js, which draws. */
OPTUNE_API int optune_report_write(const char *json, const char *path, size_t *bytes,
                                   optune_err *err);

typedef struct optune_selection optune_selection;
/* What would be used, and why; the caller frees *selection, and all texts of it end with it. Reads
 * the store without a lock. ESYNTAX and ETYPE: what is wrong in the workload, with its place;
 * ENOENT: nothing computes it on the target, and who refused it why. */
OPTUNE_API int optune_select(optune *handle, const char *workload, optune_selection **selection,
                             optune_err *err);
/* The same for a call whose types are inferred. An answer is kept and given again as long as
 * nothing was written to the database since, by whatever process: asking again costs less than a
 * microsecond. Compilers and libraries are looked at when an answer is made. */
OPTUNE_API int optune_select_call(optune *handle, const optune_call *call,
                                  optune_selection **selection, optune_err *err);
OPTUNE_API void optune_selection_free(optune_selection *selection); /* NULL is fine */
OPTUNE_API const char *optune_selection_impl(const optune_selection *selection);
OPTUNE_API const char *
optune_selection_tier(
    const optune_selection *selection); /* "tuned", "unverified", "hinted", "plevel" */
OPTUNE_API const char *
optune_selection_config(const optune_selection *selection); /* JSON text */
OPTUNE_API double
optune_selection_cost(const optune_selection *selection); /* s; infinity: unknown */
/* For people; `explain`: each implementation's cost, or why not. It and JSON may read the store. */
OPTUNE_API const char *optune_selection_text(optune_selection *selection, bool explain);
OPTUNE_API const char *
optune_selection_json(optune_selection *selection); /* schema: docs/formats.md */

/* ---- symbolic shapes --------------------------------------------------------------------- */

typedef struct optune_dispatch_options {
    size_t size;
    const char
        *workload; /* with named ranges: "dense(f32[?m:1..4096,768], const f32[64,768])" */
    const char
        *output; /* FILE.c: also write C source, FILE.h, and the table as FILE.json; NULL */
    const char *search; /* NULL: the default */
    int trials;         /* per tuned shape; 0: the default */
    double seconds;     /* all; 0: the default; negative: no limit */
    int points;         /* shapes to tune at most; 0: the default */
    int regret;         /* shapes to compare with tuning of their own; 0: the default,
                           negative: none */
    uint64_t seed;
    const char *log; /* also append every record to this file; NULL: no */
    void (*progress)(void *arg, const optune_progress *progress); /* NULL: none */
    void *progress_arg;
} optune_dispatch_options;

/* Chooses shapes, tunes them, and keeps a table of what to use where, in the database and next to
 * `output`. What was measured before counts. On OPTUNE_OK and OPTUNE_EINTERRUPTED *result is
 * set. */
OPTUNE_API int optune_dispatch_tune(optune *handle, const optune_dispatch_options *options,
                                    optune_result **result, optune_err *err);

typedef struct optune_dispatch optune_dispatch;
/* The table of a workload, or of a file. ENOENT: there is none, or it is another device's;
 * EVERSION: it is stale, and why. It does not need the handle afterwards. */
OPTUNE_API int optune_dispatch_open(optune *handle, const char *workload_or_file,
                                    optune_dispatch **dispatch, optune_err *err);
OPTUNE_API void optune_dispatch_close(optune_dispatch *dispatch); /* NULL is fine */
/* The row for one size per dim, in the order of optune_dispatch_dim; -1: outside the ranges. Takes
 * nanoseconds, allocates nothing, may be called by several threads. */
OPTUNE_API int optune_dispatch_select(const optune_dispatch *dispatch, const int64_t *sizes);
/* How many symbolic dims there are, and their names, in the order of the inputs. All texts belong
 * to the table. */
OPTUNE_API int optune_dispatch_dims(const optune_dispatch *dispatch);
OPTUNE_API const char *optune_dispatch_dim(const optune_dispatch *dispatch, int dim);
/* How many rows there are; of row 0 .. rows-1 its implementation, and its config as JSON text. */
OPTUNE_API int optune_dispatch_rows(const optune_dispatch *dispatch);
OPTUNE_API const char *optune_dispatch_impl(const optune_dispatch *dispatch, int row);
OPTUNE_API const char *optune_dispatch_config(const optune_dispatch *dispatch, int row);
/* The whole table: for people, and as the JSON of docs/formats.md. */
OPTUNE_API const char *optune_dispatch_text(const optune_dispatch *dispatch);
OPTUNE_API const char *optune_dispatch_json(const optune_dispatch *dispatch);

/* ---- moving records ---------------------------------------------------------------------- */

/* Writes the selected implementation of a workload as self-contained C into `dir` (made when
 * absent): <name>.c, <name>.h, plan.json. The result lists the files; the caller frees it. EUSAGE:
 * a dim is not constant; EUNSUPPORTED: the target is a GPU's. */
OPTUNE_API int optune_emit(optune *handle, const char *workload, const char *dir,
                           optune_result **result, optune_err *err);
/* Which records are written; zero and NULL mean all, and all conditions must hold. */
typedef struct optune_export_options {
    size_t size; /* sizeof(optune_export_options) */
    const char *op, *impl; /* `op`: an operator's name, or a workload */
    const char
        *target; /* what it says of a record's target must be so: "cuda", "cpu -mcpu=x" */
    int threads;
    const char *device; /* a key */
    const char *policy; /* as in optune_options */
    /* One per question (device, target, workload, policy): what optune_select would choose for it
     * from what the other conditions leave, with the libraries that the handle's target names. What
     * is stale or only a hint is none. */
    bool best;
    /* What AutoTVM of TVM 0.19 can use: its templates, its targets, calls that its arguments say
     * in full; measured warm unless `policy` says otherwise. */
    bool tvm;
    const char *path; /* NULL: the log is the result's text */
    /* "t4" (results of the autotuning community's schema), "kernel-tuner" (its cache file): of one
     * implementation, workload, device and target; NULL: a log */
    const char *format;
} optune_export_options;
/* Writes records as a log, oldest first, in which targets are TVM's. The caller frees the
 * result. */
OPTUNE_API int optune_export_records(optune *handle, const optune_export_options *options,
                                     optune_result **result, optune_err *err);
/* What was tuned: a row for each question (device, target, workload, policy) that records are
 * about, with what optune_select would choose for it from what the conditions leave. Of these
 * `op`, `impl`, `target`, `threads`, `device` and `policy` count. The text is a table for a
 * terminal of `width` columns (0: as wide as it wants); the document's `workloads` have call,
 * device, target, policy, state ("tuned"; "unverified": its device cannot be looked at here;
 * "stale": what was measured holds no longer; "refused": what was measured may not be selected,
 * as libraries that the target does not name; "hinted": only logs of others know it; "failed";
 * "unknown": it cannot be asked here), impl, config, cost, low and high in seconds (of what is
 * stale the best that was), counts of records (measured, failed, hints), time, and why nothing
 * would be selected. The caller frees the result. ENOENT: there is no database, operator,
 * implementation or device of that name. */
OPTUNE_API int optune_list_tuned(optune *handle, const optune_export_options *conditions,
                                 int width, optune_result **result, optune_err *err);
/* The best current record of what AutoTVM asks while TVM compiles: `task` is the JSON of a log
 * line's "input", [TARGET, TEMPLATE, ARGUMENTS, {}]. Only records of that template count, of this
 * handle's device, target and policy. The text is the record as a line that AutoTVM reads, the
 * document has it with its call, tier and cost; the caller frees the result. ENOENT, with what is
 * missing: no such template, a target that means another machine, or no record, where *result is
 * set nevertheless: its document has the call, to be tuned. ETYPE: arguments that are not the
 * template's; ESYNTAX: no task. */
OPTUNE_API int optune_query_tvm(optune *handle, const char *task, optune_result **result,
                                optune_err *err);
/* The same with `op`, `best` and `path` alone. */
OPTUNE_API int optune_export(optune *handle, const char *op, bool best, const char *path,
                             optune_result **result, optune_err *err);
/* Reads a log, ours or AutoTVM's, from a file or an https URL. The result says, line by line,
 * what was not taken and why; the caller frees it. A source that cannot be read at all is a
 * failure, lines that are not taken are none; EPARTIAL, with *result: there are no others. Of one
 * whose reading ended early (EINTERRUPTED, EIO) what was taken by then is kept, and told. */
OPTUNE_API int optune_import(optune *handle, const char *source, optune_result **result,
                             optune_err *err);

/* ---- the database as a whole ------------------------------------------------------------- */

typedef struct optune_database_options {
    size_t size;
    const char *what;         /* "check", "stat", "compact", "rebuild", "prune", "forget" */
    const char *const *words; /* of rebuild: logs, NULL-terminated (NULL or none: all of the
                                 database); of forget: a workload */
    bool mend;                /* of check: put right what is wrong */
    int history;              /* of prune: of each workload's measurements that newer ones of the
                                 same config replaced, so many stay; 0: the default (64),
                                 negative: none */
    double days;              /* of prune: failed trials of so many days stay; 0: the default
                                 (30), negative: all */
    const char *impl;         /* of forget: only its records; NULL: all of the workload's */
} optune_database_options;

/* Does that to the first database of the list. EDAMAGED with a result: a check found faults and was
 * not asked to mend them; ENOENT: there is no such deed, database or record; ETIMEOUT: somebody
 * else writes all the time, and who. */
OPTUNE_API int optune_database(optune *handle, const optune_database_options *options,
                               optune_result **result, optune_err *err);

/* ---- hubs: records of other machines ------------------------------------------------------ */

typedef struct optune_hub_options {
    size_t size;
    const char *what;         /* "add", "remove", "list", "pull", "push", "verify", "key" */
    const char *const *words; /* NULL-terminated: of add a name and an address, or the name of one
                                 that is there and gets keys; of the others a hub's name; of list,
                                 pull and verify none: all hubs */
    const char *const *keys;  /* of add: public keys whose packs are taken, hex, also of a hub
                                 that is there; of remove: of which none is taken any more, and
                                 what they brought goes; NULL: none */
    bool hints;      /* of add: nothing of it is selected before it was measured here */
    bool anybody;    /* of add: what is unsigned or signed by others is taken, too, as hints */
    bool plain_http; /* of add: http addresses, too */
    const char *s3_region;  /* of add: signed as S3 wants it, with the AWS_* of the environment */
    const char *const *ops; /* of pull, verify, push: these operators; NULL: all */
    bool all_devices;       /* of the same: of other devices, too; else of the handle's */
    bool finals;            /* of push: measurements of finalists alone */
    bool imported;          /* of push: also what came from elsewhere */
    const char *key_file;   /* of push, key: NULL: $OPTUNE_KEY, or optune/key among settings */
    /* Bytes of the file that is fetched; total -1: not known. NULL: none. */
    void (*progress)(void *arg, const char *hub, int64_t done, int64_t total);
    void *progress_arg;
} optune_hub_options;

/* Does that to the hubs beside the first database of the list: docs/hub.md. Nothing that comes is
 * executed or compiled. EPARTIAL with a result: packs or hubs were refused, and why is told; ENET,
 * ENOENT, EDAMAGED, EVERSION: the hub cannot be reached or is none; ECONFLICT: there is such a hub,
 * which is another; EUSAGE: a key or an address is none. */
OPTUNE_API int optune_hub(optune *handle, const optune_hub_options *options,
                          optune_result **result, optune_err *err);

/* ---- what there is ----------------------------------------------------------------------- */

/*
 * Row by row: each function fills a struct, whose `size` is set, with row `index`, from 0 on. It
 * returns 1, and fills nothing, behind the last one. Rows are in the order in which they are
 * listed; what is brought or added by a plugin comes behind. Texts and lists live as long as the
 * process. Nothing is probed and no database is read.
 */
typedef struct optune_listed_op {
    size_t size;
    const char *name, *summary;
    const char *pattern; /* of fusing: "elementwise", "broadcast", "injective", "reduction",
                            "out-fusable", "tuple", "opaque" */
    int pattern_number, support_level; /* as in Relay */
    /* Expressions of what it computes, NULL where it declares none; of a reduction the last four */
    const char *scalar, *identity, *map, *combine, *finish;
    bool pieces; /* a map of its calls says which element goes where */
    int n_outputs;
    const char *const *outputs; /* their names */
    bool outputs_by_attribute;  /* a call may have fewer */
    bool flops;                 /* operations are counted */
    bool bytes;                 /* bytes by a rule of its own, else those of all tensors */
    bool terms;                 /* the error bound grows with the terms of a sum */
    bool gradient;              /* it has a rule for that */
    bool shape_function;        /* output dims follow from values */
    const char
        *standard; /* what its outputs are compared with, where somebody brought it; NULL:
                             its own reference */
    const char *const *samples; /* small workloads, NULL-terminated; NULL: none */
} optune_listed_op;

typedef struct optune_listed_input {
    size_t size;
    const char *name, *type, *description; /* type: "tensor [M,K]" */
    bool optional, is_const;
} optune_listed_input;

typedef struct optune_listed_attr {
    size_t size;
    const char *name, *description;
    const char *kind;  /* "int", "float", "bool", "word", "ints", "dtype" */
    const char *value; /* default; NULL: required */
    const char *words; /* allowed ones, separated by spaces; NULL: any */
    int length;        /* of a list; 0: any */
    int64_t min, max;  /* of integers; both 0: unbounded */
    bool none;         /* the word `none` is a value, too */
    bool shown;        /* canonical text has it even at its default */
} optune_listed_attr;

/* Workloads of a real network; an operator's first preset is its default. */
typedef struct optune_listed_preset {
    size_t size;
    const char *name, *description;
    const char *const *workloads; /* NULL-terminated */
} optune_listed_preset;

typedef struct optune_listed_impl {
    size_t size;
    const char *op, *name, *summary;
    const char *library;   /* that it calls; NULL: none */
    const char *math;      /* numerics classes, separated by spaces; NULL: ieee */
    const char *task_args; /* AutoTVM's arguments of its task; NULL: none */
    double error_scale;    /* its error bound, as a multiple of the operator's */
    const char *digest;    /* hex; of its sources: what records depend on */
} optune_listed_impl;

/* Where an implementation stands in a strategy. */
typedef struct optune_listed_strategy {
    size_t size;
    const char *key; /* of targets */
    int plevel;
    const char *when; /* clauses over shapes; NULL: always */
    bool condition;   /* and a condition of its own */
} optune_listed_strategy;

typedef struct optune_listed_target {
    size_t size;
    const char *name, *summary;
    const char *const *keys; /* of strategies, NULL-terminated */
    const char *source_suffix, *module_suffix;
} optune_listed_target;

typedef struct optune_listed_search {
    size_t size;
    const char *name, *summary;
} optune_listed_search;

/* Operators, or the one called `name` (NULL: all); of an operator its inputs, attributes, presets.
 * ENOENT: there is no such operator. */
OPTUNE_API int optune_list_op(optune *handle, const char *name, int index, optune_listed_op *op,
                              optune_err *err);
OPTUNE_API int optune_list_input(optune *handle, const char *op, int index,
                                 optune_listed_input *input, optune_err *err);
OPTUNE_API int optune_list_attr(optune *handle, const char *op, int index,
                                optune_listed_attr *attr, optune_err *err);
OPTUNE_API int optune_list_preset(optune *handle, const char *op, int index,
                                  optune_listed_preset *preset, optune_err *err);
/* Implementations, or those of `op` (NULL: all); where one called `impl` stands in strategies.
 * ENOENT: there is no such operator or implementation. */
OPTUNE_API int optune_list_impl(optune *handle, const char *op, int index,
                                optune_listed_impl *impl, optune_err *err);
OPTUNE_API int optune_list_strategy(optune *handle, const char *impl, int index,
                                    optune_listed_strategy *strategy, optune_err *err);
OPTUNE_API int optune_list_target(optune *handle, int index, optune_listed_target *target,
                                  optune_err *err);
OPTUNE_API int optune_list_search(optune *handle, int index, optune_listed_search *search,
                                  optune_err *err);

/* Devices: those of this machine, those that the database has records of, and the kinds of which
 * there is none here. */
typedef struct optune_listed_device {
    size_t size;
    const optune_device *device; /* NULL: there is none of this kind here */
    bool here, stored;
    const char *target; /* the kind of which there is none here, */
    const char *why;    /* and why; both NULL where there is a device */
    const char *unmade; /* instructions that it has and its compiler does not make, in words; NULL:
                           none, or it is not this machine's */
} optune_listed_device;
typedef struct optune_devices optune_devices;
/* Probes this machine and reads the database; the caller closes *devices, whose rows end then. */
OPTUNE_API int optune_devices_open(optune *handle, optune_devices **devices, optune_err *err);
OPTUNE_API void optune_devices_close(optune_devices *devices); /* NULL is fine */
/* As the functions above: 1 behind the last row. */
OPTUNE_API int optune_list_device(const optune_devices *devices, int index,
                                  optune_listed_device *device, optune_err *err);

/* The same as a document, and no text. `what`: "ops", "impls", "targets", "devices", "searches";
 * `name` narrows it: one op in full, or the implementations of one op; NULL: all. The caller frees
 * the result. */
OPTUNE_API int optune_list(optune *handle, const char *what, const char *name,
                           optune_result **result, optune_err *err);
/* The entry of names[] that a word of a person's most likely means, misspelt or cut short; NULL
 * when none is near. */
OPTUNE_API const char *optune_nearest(const char *word, const char *const *names, int n);

#ifdef __cplusplus
}
#endif
#endif
