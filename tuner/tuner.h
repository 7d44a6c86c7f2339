/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place where everything meets. Parent side: build, trial, budget, tune, run, import,
 * emit. Worker side: serve, buffers, verify, measure. The two speak length-prefixed JSON on one
 * socket (protocol in worker.c's header), and nothing else here knows where a trial runs.
 */
#ifndef OPTUNE_TUNER_H
#define OPTUNE_TUNER_H

#include <jansson.h>
#include <stdatomic.h>

#include "base/base.h"
#include "db/db.h"
#include "optune/optune.h"
#include "strategy/strategy.h"
#include "target/target.h"

/* ---- context.c: the handle --------------------------------------------------------------- */
struct optune {
    char db[4096];
    char target_text[OPTUNE_TEXT_SIZE];
    char device_key[OPTUNE_NAME_SIZE * 2]; /* asked for with --device; empty: this machine */
    optune_target target;                  /* threads settled once the device is known */
    optune_device device;
    const optune_target_row *row;
    const struct ot_measure_policy *policy;
    bool have_device;
    ot_store *store;          /* NULL until needed */
    int store_mode, n_opened; /* how it was opened, and how often one was */
    char **plugins;           /* loaded, NULL-terminated */
    optune_log_level log_level;
    void (*log)(void *arg, optune_log_level level, const char *text);
    void *log_arg;
    atomic_bool stop;
    void *lock; /* pthread mutex over the lazy parts */
    struct ot_answers *answers;
};
int ot_context_device(optune *o, optune_err *err); /* probes, or reads the stored device */
int ot_context_store(optune *o, int mode, optune_err *err); /* opens; WRITE upgrades */
/* A fresh name under DB/logs, which is made: <utc time>-<pid><suffix>.log. */
int ot_context_log_path(const optune *o, const char *suffix, char *path, size_t size,
                        optune_err *err);
/* Where compiled modules are kept. */
void ot_context_cache(const optune *o, char *path, size_t size);
void ot_context_log(optune *o, optune_log_level level, const char *format, ...)
    OPTUNE_PRINTF(3, 4);
bool ot_context_stopped(const optune *o);
/* The calling process's view of what generated code and libraries depend on; "name=value" lines
 * in the arena; NULL when it cannot be told here (another device's key). */
const char *ot_context_depends(optune *o, const optune_impl *impl, ot_arena *arena);
/* Everything the store knows of a task, judged for currency. */
int ot_context_facts(optune *o, const optune_task *task, ot_arena *arena, ot_fact **fact,
                     int *n, optune_err *err);
/* The same as measured under another policy; NULL: "warm". */
int ot_context_facts_at(optune *o, const optune_task *task, const char *policy, ot_arena *arena,
                        ot_fact **fact, int *n, optune_err *err);
/* facts.c: the store's key of a task; texts in the arena. */
int ot_context_question(optune *o, const optune_task *task, ot_question *question,
                        ot_arena *arena);
/* answers.c: what would be used for a call, kept as long as the store does not change. */
typedef struct ot_answer {
    atomic_int users;
    optune_call call;
    optune_target target;
    optune_device device;
    optune_task task; /* of the three above */
    ot_arena arena;   /* the facts that the choice refers to, and `config` */
    int n_facts;      /* there were */
    ot_choice choice;
    const char *config; /* the winner's, canonical */
} ot_answer;
struct ot_answers *ot_answers_open(void);
void ot_answers_close(struct ot_answers *answers);
/* Thread-safe. The caller owns one use of *answer and ends it with ot_answer_drop. */
int ot_answer_text(optune *o, const char *workload, const ot_answer **answer, optune_err *err);
int ot_answer_call(optune *o, const optune_call *call, const ot_answer **answer,
                   optune_err *err);
void ot_answer_drop(const ot_answer *answer);           /* NULL is fine */
optune_result *ot_result_new(char *text, json_t *json); /* result.c; takes both */

/* ---- build.c, cache.c: candidates to modules --------------------------------------------- */
/* Jobs run in parallel in processes of their own; equal sources are compiled once and kept in a
 * content-addressed cache with a size limit. Not thread-safe: one owner pumps it. */
typedef struct ot_builder ot_builder;
typedef struct ot_build_options {
    const optune_target *target;
    const optune_device *device;
    const optune_target_row *row;
    const char *cache_dir; /* made when absent */
    int64_t cache_bytes;   /* 0: 512 MiB */
    int jobs;              /* compilers at once; 0: the machine's cores */
    double limit_s;        /* per compile; 0: 20, more where the machine is busy */
} ot_build_options;
int ot_builder_open(const ot_build_options *options, ot_builder **builder, optune_err *err);
void ot_builder_close(ot_builder *builder); /* kills what still runs */
typedef struct ot_job {                     /* one plan's modules */
    int outcome;                            /* OK, COMPILE, BUILD_TIMEOUT; valid once done */
    bool done, cached;                      /* cached: no compiler ran for it */
    double seconds;                         /* compiling */
    int n_modules;
    char module[OPTUNE_MAX_MODULES][4096]; /* paths */
    char message[OPTUNE_ERR_SIZE];         /* the compiler's first error, when not OK */
    void *work;                            /* the builder's */
} ot_job;
/* Queues a plan; the job must stay where it is until done or the builder is closed. Fails only
 * when no compiler can be run at all (ETOOL, with what to install) or the disk refuses. */
int ot_builder_submit(ot_builder *builder, const optune_task *task, const optune_plan *plan,
                      ot_job *job, optune_err *err);
/* The job is no longer wanted and may go away; its compiler is stopped unless another job
 * shares it. */
void ot_builder_forget(ot_builder *builder, ot_job *job);
void ot_builder_pump(
    ot_builder *builder); /* collects what ended, starts what waits; never blocks */
/* Pumps until the job is done; NULL: until any compiler ended. */
void ot_builder_wait(ot_builder *builder, ot_job *job, double seconds);
/* Lets at most this many compilers go on and stops the others where they are; their time limits
 * wait with them. */
void ot_builder_allow(ot_builder *builder, int most);
int64_t ot_builder_compiles(const ot_builder *builder); /* how many compilers ran */

/* ---- worker_client.c: trials in a process of their own ----------------------------------- */
typedef struct ot_measure_policy {
    char name[OPTUNE_NAME_SIZE]; /* "warm"; part of the record's key */
    double sample_s;             /* a sample is at least this long: 200e-6 */
    int min_samples;             /* 6 */
    int max_samples;             /* 60 */
    double width;                /* stop when (high-low)/median is below: 0.02 */
    double budget_s;             /* of sampling one candidate: 0.25 */
    double give_up;              /* stop early when the low end exceeds best * this: 1.25 */
    bool cold;                   /* caches are flushed before every run */
} ot_measure_policy;
extern const ot_measure_policy ot_policy_warm, ot_policy_cold;

typedef struct ot_trial {
    const optune_impl *impl;
    const optune_config *config;
    const ot_job *job; /* built, outcome OK */
    double best;       /* cost to beat; infinity: none */
    double limit_s;    /* deadline of the whole trial; 0: 20 */
    const char
        *range; /* the call that the plan is for, wider than the workload; NULL: it is not */
} ot_trial;
typedef struct ot_trial_result {
    int outcome;
    const char *message; /* in the arena */
    double cost, low, high, error;
    int n_samples;
    const double *sample; /* in the arena */
    int64_t inner;
    uint64_t seed;
    const char *counters; /* lines, in the arena; NULL: none */
    double seconds;       /* wall time of the trial in the worker */
} ot_trial_result;

typedef struct ot_worker ot_worker;
typedef struct ot_worker_options {
    const char *target_text; /* parsed again on the other side */
    const optune_target *target;
    const optune_device *device;
    char *const *plugins;    /* NULL-terminated, or NULL */
    const atomic_bool *stop; /* when it becomes true, calls return EINTERRUPTED; NULL: never */
    void (*waiting)(void *arg, double seconds); /* the device is locked by another run; NULL */
    void (*idle)(
        void *arg); /* something useful to do every few ms while the worker works; NULL */
    void *arg;
    void (*alone)(
        void *arg,
        bool begins); /* a measurement begins, or is over: nothing may disturb it; NULL */
    bool spare;       /* a measurement leaves cores free: idle work goes on beside it */
} ot_worker_options;
/* Starts lazily and restarts after a crash, a deadline, or 200 modules. ETOOL: the worker program
 * cannot be found (where it was looked for, and OPTUNE_WORKER). */
int ot_worker_open(const ot_worker_options *options, ot_worker **worker, optune_err *err);
void ot_worker_close(ot_worker *worker);
/* Sets the workload of the trials that follow: inputs from the seed, the reference (computed
 * once, kept across restarts). Repeated by itself after a restart. */
int ot_worker_workload(ot_worker *worker, const char *call, uint64_t seed, optune_err *err);
/* Verify, then measure. A bad candidate is a result, not an error. A worker killed from
 * outside: the trial is repeated once. Holds the device's advisory lock while it runs. */
int ot_worker_trial(ot_worker *worker, const ot_trial *trial, const ot_measure_policy *policy,
                    ot_arena *arena, ot_trial_result *result, optune_err *err);
/* Verifies each with a second seed, then measures all interleaved for about `seconds`, then reads
 * counters in a pass of their own. result[i] belongs to trial[i]. One that crashes costs itself
 * only: the others are measured again. */
int ot_worker_finals(ot_worker *worker, const ot_trial *trial, int n,
                     const ot_measure_policy *policy, double seconds, ot_arena *arena,
                     ot_trial_result *result, optune_err *err);
/* Why there are no hardware counters; empty when there are. Known after the first finals. */
const char *ot_worker_counters_why(const ot_worker *worker);
/* Measured peak of this device at these threads: FMA rate in FLOP/s and read bandwidth in
 * bytes/s; 0 where it cannot be told. */
int ot_worker_peak(ot_worker *worker, double *flops, double *bandwidth, optune_err *err);

/* ---- worker_serve.c: the other side ------------------------------------------------------ */
int ot_worker_serve(int fd); /* main loop of optune-worker; returns its exit code */

/* verify.c: double-precision bound for one output element, as a multiple of magnitude */
double ot_error_bound(const optune_call *call, const optune_impl *impl, int out_index);
void ot_fill_input(const optune_tensor *type, uint64_t seed, int index, void *to);

/* ---- budget.c, tune.c, run.c: the search ------------------------------------------------- */

#endif
