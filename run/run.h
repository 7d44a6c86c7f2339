/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a plan to an outcome: compiling candidates, running them in a process of their own,
 * verifying and measuring them there. Knows no store and no search.
 */
#ifndef OPTUNE_RUN_H
#define OPTUNE_RUN_H

#include <jansson.h>
#include <stdatomic.h>

#include "optune/optune.h"
#include "strategy/strategy.h"
#include "target/target.h"

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
    int status; /* negative: COMPILE is the machine's fault, no candidate's */
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
/* The same of one module of any text, with the compiler flags of `flags`. */
int ot_builder_submit_text(ot_builder *builder, const ot_module *flags, const ot_text *text,
                           ot_job *job, optune_err *err);
/* Of a job that is done: builds again what somebody damaged since, so that a candidate that writes
 * into the cache harms no other. */
int ot_builder_renew(ot_builder *builder, const optune_task *task, const optune_plan *plan,
                     ot_job *job, optune_err *err);
/* Whether the system refused what a build asked of it last: room for a source or a module, a
 * process. It would refuse the next one, too. */
bool ot_builder_refused(const ot_builder *builder);
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
    bool in_graph; /* in one graph: no trial is, but the last word on it (tuner/in_graph.c) */
    int64_t footprint; /* bytes between two uses of a constant; 0: it is used in every run */
    bool costs;        /* the timer returns no time */
    /* Seconds that the last runs took, with what is done in front of each; NULL: what the timer
     * said. */
    double (*lasted)(void *arg);
} ot_measure_policy;
extern const ot_measure_policy ot_policy_warm, ot_policy_cold;
/* "graph-" and eight of these digits: measured in one graph, while it ran. */
void ot_policy_of_graph(const char *digest, char *name, size_t size);
bool ot_policy_is_graph(const char *name); /* it is such a name */
/* By name: "warm", "cold", "model-<N>M" as in a model that touches so many MiB, N a power of
 * two, or "graph-<digest>". EUSAGE: there is no such. */
int ot_policy_find(const char *name, ot_measure_policy *policy, optune_err *err);
/* The name of the policy for a model that touches so many bytes, rounded; "" where it is so small
 * that warm says it. */
void ot_policy_of_model(double bytes, char *name, size_t size);

typedef struct ot_trial {
    const optune_impl *impl;
    const optune_config *config;
    const ot_job *job; /* built, outcome OK */
    double best;       /* cost to beat; infinity: none */
    double limit_s;    /* deadline of the whole trial; 0: 20 */
    const char
        *range; /* the call that the plan is for, wider than the workload; NULL: it is not */
} ot_trial;
/* The fields of a record that the worker tells; texts and samples are in the arena. */
typedef struct ot_trial_result {
#define OT_TOLD_ASKER(kind, name)
#define OT_TOLD_WORKER(kind, name) OPTUNE_RECORD_##kind(name)
#define OT_TOLD(kind, name, who, ...) OT_TOLD_##who(kind, name)
    OPTUNE_RECORD_MAP(OT_TOLD)
#undef OT_TOLD
#undef OT_TOLD_WORKER
#undef OT_TOLD_ASKER
    double seconds; /* wall time of the trial in the worker */
} ot_trial_result;
/* Between the two, where the rest stays as it is; texts and samples are shared. */
void ot_trial_result_of(const optune_record *from, ot_trial_result *to);
void ot_trial_result_put(const ot_trial_result *from, optune_record *to);

typedef struct ot_worker ot_worker;
typedef struct ot_worker_options {
    const char *target_text; /* parsed again on the other side */
    const optune_target *target;
    const optune_device *device;
    char *const *plugins;    /* NULL-terminated, or NULL */
    const atomic_bool *stop; /* when it becomes true, calls return EINTERRUPTED; NULL: never */
    const double *until;     /* the same at this ot_now(); 0, or NULL: never */
    void (*waiting)(void *arg, double seconds); /* the device is locked by another run; NULL */
    void (*idle)(
        void *arg); /* something useful to do every few ms while the worker works; NULL */
    void *arg;
    void (*alone)(
        void *arg,
        bool begins); /* a measurement begins, or is over: nothing may disturb it; NULL */
    void (*measured)(void *arg); /* it is over, and its processes are still there; NULL */
    bool spare; /* a measurement leaves cores free: idle work goes on beside it */
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
/* Elements of that output which the `standard` of the workload at hand does not write: candidates
 * have to leave them, too, and that is all that is known of them. */
int64_t ot_worker_left(const ot_worker *worker, int output);
/* The processes that candidates of the request at hand run in, for a callback: those that were told
 * of; returns how many. */
int ot_worker_pids(const ot_worker *worker, pid_t *pid, int most);
/* What a device can do at its threads, in a second, measured; 0: nobody can tell. */
typedef struct ot_peaks {
    double flops;     /* of float32 multiply-adds, two each */
    double bandwidth; /* bytes: read by a CPU, copied (read and written) by a GPU */
    double tensor;    /* of bfloat16 multiply-adds on tensor cores */
    char tensor_why[OPTUNE_WHY_SIZE]; /* why they could not be measured, where the rest was */
} ot_peaks;
int ot_worker_peak(ot_worker *worker, ot_peaks *peak, optune_err *err);

/* ---- worker_serve.c: the other side ------------------------------------------------------ */
int ot_worker_serve(int fd); /* main loop of optune-worker; returns its exit code */

/* tolerance.c: double-precision bound for one output element, as a multiple of magnitude */
double ot_error_bound(const optune_call *call, const optune_impl *impl, int out_index);
/* The same for inputs that nobody drew: what is rounded may all be rounded one way. */
double ot_error_bound_at_worst(const optune_call *call, const optune_impl *impl, int out_index);
/* fill.c: random elements of that type, by seed and index. */
void ot_fill_input(const optune_tensor *type, uint64_t seed, int index, void *to);
/* The same, of the call's input `index`, within what its operator says that it may hold. */
void ot_fill_call_input(const optune_call *call, uint64_t seed, int index, void *to);
/* The same by so many threads, floats of any size that they may have multiplied by `scale`. */
void ot_fill_scaled(const optune_call *call, uint64_t seed, int index, double scale,
                    int threads, void *to);
/* Bytes of inputs that a worker holds at most, beside those that it computes with, so that they
 * need not be made again. */
enum { OT_ALWAYS_KEPT = 256 << 20 };
double ot_inputs_most_kept(void);
/* What it may hold, both ends included; false: anything. */
bool ot_input_range(const optune_call *call, int index, double *low, double *high);

#endif
