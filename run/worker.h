/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two sides of the worker share, and the parts of its inner side.
 *
 * The worker is two processes. The keeper (worker_serve.c) speaks with the asking process, holds
 * inputs and references, judges and decides; it never loads a candidate. Its runner
 * (worker_runner.c) loads candidates and does single deeds that the keeper orders: load, run once,
 * run so many times. Where a kernel runs in the runner's own memory every candidate has a runner
 * of its own, and whatever it did to that process ends with it.
 *
 * Protocol between asker and keeper: JSON objects, one answer to each request, on one stream
 * socket. Requests have "do":
 *   hello     version, abi, sources, target, device, plugins, digests -> ok
 *   workload  call, seed, reference (a path)                    -> ok, left []
 *   trial     impl, config, range, modules, best, policy, limit -> a result
 *   finals    candidates [], policy, seconds, limit             -> results [], counters_why
 *   peak                                                        -> flops, bandwidth, tensor
 *   bye                                                         -> (ends)
 * An answer may be preceded by {"at": i, "pid"}: candidate i of the finals runs now, in that
 * process; and by {"doing": text, "pid"}: what begins now, so that the end of a worker can be told
 * with its phase, whatever ended it. With "alone" it is a measurement, and begins when {"go": true}
 * says that no compiler runs beside it; {"measured": true} ends it, and waits for another
 * {"go": true}, so that its processes can be looked at before they end. {"error", "text"} is a
 * failure that is no candidate's.
 */
#ifndef OPTUNE_WORKER_H
#define OPTUNE_WORKER_H

#include "run/run.h"

/* ---- protocol.c -------------------------------------------------------------------------- */
int ot_wire_send(int fd, json_t *message, optune_err *err); /* takes the message */
int ot_wire_receive(int fd, double seconds, json_t **message, optune_err *err);
bool ot_wire_hung_up(int fd); /* nobody is at the other end any more */
json_t *ot_wire_device(const optune_device *device); /* new reference */
int ot_wire_read_device(const json_t *object, optune_device *device, optune_err *err);
/* What the worker tells of a trial: the fields of a record that are its own. */
json_t *ot_wire_told(const optune_record *record);
int ot_wire_read_told(const json_t *object, ot_arena *arena, optune_record *record,
                      optune_err *err);
json_t *ot_wire_policy(const ot_measure_policy *policy);
int ot_wire_read_policy(const json_t *object, ot_measure_policy *policy, optune_err *err);
json_t *ot_wire_u64(uint64_t value); /* as text: JSON integers are signed here */
uint64_t ot_wire_read_u64(const json_t *text);
const char *ot_wire_text(const json_t *object, const char *name); /* "" when absent */
double ot_wire_real(const json_t *object, const char *name);      /* infinity when absent */

/* ---- worker_lock.c: one measuring run per physical device -------------------------------- */
bool ot_worker_time_is_over(const ot_worker_options *options); /* `until`; NULL: never */
/* Waits its turn, telling `waiting` about once a second. OK with *fd -1 when no lock can be
 * kept (it is advisory); EINTERRUPTED. */
int ot_device_lock(const ot_worker_options *options, int *fd, optune_err *err);
void ot_device_unlock(int fd);

/* ---- reference.c: what the outputs should be --------------------------------------------- */
enum { OT_REFERENCE_BLOCKS = 1024, OT_REFERENCE_ELEMENTS = 8 << 20 };
/* Runs of consecutive elements of an output. All of it, or, when that costs too much, its first
 * and last rows and random ones. */
typedef struct ot_block {
    int64_t output, offset, count;
    /* Byte offsets in the file: double[], of 64-bit integers their words, and float[]. */
    int64_t value, magnitude;
} ot_block;
typedef struct ot_reference {
    const char *map;
    size_t bytes;
    int64_t n_blocks;
    const ot_block *block;
    bool whole; /* every element is there */
    bool nan;   /* some are right as NaN, as poison is */
    /* Elements of each output that a `standard` does not write; their magnitude is NaN. */
    int64_t left[OPTUNE_MAX_OUTPUTS];
    bool given;  /* of inputs that nobody drew: see ot_error_bound_at_worst */
    int threads; /* that compare with it; 0: one */
} ot_reference;
typedef struct ot_reference_limits {
    double seconds;   /* 0: 2 */
    int64_t elements; /* 0: OT_REFERENCE_ELEMENTS */
    /* Where an operator's `standard` runs (standard.c); NULL: such operators are refused. */
    const optune_target *target;
    const optune_device *device;
    const int
        *asker; /* a socket: it ends when nobody is at its other end; NULL: there is none */
} ot_reference_limits;
/* Computes into `path`, atomically. in[i]: host copies of the inputs. ENOMEM: it needs more than
 * there is; whatever befalls a `standard`. */
int ot_reference_make(const optune_call *call, const void *const *in, int threads,
                      uint64_t seed, const ot_reference_limits *limits, const char *path,
                      optune_err *err);
/* Elements of the largest block that an output of constant dims is cut into. */
int64_t ot_reference_block(const optune_call *call, int output);
/* fused.c: applies what is fused behind the call to a region of its own reference, in place. */
void ot_reference_fused(const optune_call *call, const void *const *in,
                        const optune_region *region, double *value, double *magnitude);
/* Mapped so that processes forked from this one do not have it. */
/* reference_file.c */
int ot_reference_open(const char *path, ot_reference *reference, optune_err *err);
void ot_reference_close(ot_reference *reference);

/* ---- session.c: a workload's buffers, and a candidate bound to them ---------------------- */
/* Scratch that is not kept between runs, for candidates that take turns: each takes buffers of it
 * that are large enough, and adds those that it does not find. */
enum { OT_MOST_SHARED = 64 };
typedef struct ot_shared {
    int n;
    int n_wanted;
    int64_t wanted[OPTUNE_MAX_SCRATCH]; /* as much as some plan needs as its largest, its second
                                           ... : so none is made twice, larger each time */
    void *buffer[OT_MOST_SHARED];
    int64_t bytes[OT_MOST_SHARED];
    /* What is kept lies in one buffer, behind one another as it is made: in memory of this process,
     * where many small ones would be in pages of their own, each on the same lines of a cache. */
    void *kept;
    int64_t kept_wanted, kept_bytes, kept_used;
} ot_shared;
/* What this plan will ask for, said before any candidate is bound. */
void ot_shared_want(ot_shared *shared, const optune_plan *plan);
/* When all that took of it are closed. */
void ot_shared_release(ot_shared *shared, const optune_target_worker *row, void *state);

/* The true inputs, which are timed; near ones, the same but for a few elements of those that are
 * not constant; and far ones, of another seed and twice as large. */
typedef enum ot_set { OT_SET_TRUE, OT_SET_NEAR, OT_SET_FAR, OT_SETS } ot_set;
/* Inputs of one of these, on a device, where no kernel is told of them. */
typedef struct ot_stock {
    void *in[OPTUNE_MAX_INPUTS]; /* NULL: it is not there */
    uint64_t hash[OPTUNE_MAX_INPUTS];
} ot_stock;
/* What compares with them there. */
typedef struct ot_same {
    void *module, *function; /* NULL: it is not there, inputs are read back */
    void *differs;           /* a buffer of one int */
} ot_same;

typedef struct ot_session {
    const optune_target_worker *row; /* the target's */
    void *state;
    optune_task task; /* what candidates are for: of `call`, or of somebody's who outlives it */
    ot_shared *shared; /* NULL: every candidate has scratch of its own */
    const struct ot_bound
        *packed; /* the same candidate, prepacked: its constant scratch is used;
                                      NULL: every candidate has that of its own, too */
    /* [0]: guarded, for verifying; [1]: aligned, for timing */
    void *in[2][OPTUNE_MAX_INPUTS];
    void *out[2][OPTUNE_MAX_OUTPUTS];
    /* What follows is large, and a worker's: whoever runs hundreds of kernels leaves it alone. */
    optune_target target;
    optune_device device;
    optune_call call;
    uint64_t seed;
    bool ready;
    int64_t in_bytes[OPTUNE_MAX_INPUTS], out_bytes[OPTUNE_MAX_OUTPUTS];
    uint64_t in_hash[2][OPTUNE_MAX_INPUTS]; /* of what was written to them */
    ot_stock stock[OT_SETS];
    bool stock_lost;                  /* it had to make room */
    int in_set[2][OPTUNE_MAX_INPUTS]; /* of the stock; OT_SETS: of none */
    ot_same same;
    void *host; /* as large as the largest of them */
    ot_reference reference;
} ot_session;
int ot_session_open(ot_session *s, const optune_target *target, const optune_device *device,
                    optune_err *err);
void ot_session_close(ot_session *s);
void ot_session_forget(ot_session *s); /* its workload */
/* session_workload.c: sizes, reference (computed unless that file is there) and both kinds of
 * buffers, with the inputs of the seed. */
int ot_session_workload(ot_session *s, const char *call, uint64_t seed, const char *reference,
                        optune_err *err);
/* The workload's sizes only: neither inputs nor a reference. */
int ot_session_shape(ot_session *s, const char *call, optune_err *err);
/* Buffers of one kind, inputs unwritten; nothing is done where they are there. */
int ot_session_buffers(ot_session *s, int kind, optune_err *err);
void ot_session_drop(ot_session *s, int kind); /* and without them again */
/* The same, with the inputs of the session's seed. */
int ot_session_fill(ot_session *s, int kind, optune_err *err);
int ot_session_put(ot_session *s, int kind, int input, const void *from, optune_err *err);
/* session_stock.c: keeps on the device what an input holds, as this set's, for ot_stock_take.
 * false: the device cannot, or has other use for its memory. */
bool ot_stock_keep(ot_session *s, int kind, ot_set set, int input);
/* The input holds this again; it is kept. */
int ot_stock_take(ot_session *s, int kind, ot_set set, int input, optune_err *err);
void ot_stock_drop(ot_session *s); /* all of it */
/* The same where the device has no room for something else; false: nothing is there. */
bool ot_stock_yield(ot_session *s);
/* session_same.c: whether the device says that this large input is as its set is: 0, or 1;
 * negative: it cannot tell, or the input is small. */
int ot_stock_same(ot_session *s, int kind, int input);
/* Whether some input of this call is compared there. */
bool ot_same_wanted(const optune_target_worker *row, const optune_device *device,
                    const optune_call *call);
/* Runs the target's compiler for what compares; *module: the bytes of the file it makes. */
int ot_same_build(const optune_target *target, const optune_device *device, ot_text *module,
                  optune_err *err);
/* Loads such a file; where that fails inputs are read back. Nothing is done where it is there. */
void ot_same_open(ot_session *s, const char *path);
void ot_same_close(ot_session *s);
/* session_bytes.c */
/* Before guarded ones are dropped: the pages of large ones that are whole pages become those of the
 * aligned ones, at the addresses of these, so that no other memory has to be cleared, and whoever
 * kept an address has that of nothing. */
void ot_session_promote(const ot_session *s);
/* False says which buffer of this kind is not as it was: written to, or around. */
bool ot_session_intact(ot_session *s, int kind, char *message, size_t size);
/* New guarded buffers, after a candidate wrote where it must not. */
int ot_session_renew(ot_session *s, optune_err *err);

/* A candidate in this process: its plan and its modules. */
typedef struct ot_loaded {
    const optune_impl *impl;
    optune_config config;
    optune_plan plan;
    void *module[OPTUNE_MAX_MODULES];
} ot_loaded;
/* A candidate whose modules were built. */
typedef struct ot_built {
    const optune_impl *impl;
    const optune_config *config;
    const optune_call
        *range; /* that the plan is made for, when wider than the workload; else NULL */
    int n_modules;
    const char *module[OPTUNE_MAX_MODULES]; /* paths */
} ot_built;
ot_built ot_built_of(const ot_job *job, const optune_impl *impl, const optune_config *config);
/* On failure *outcome says how the candidate failed and err why. */
int ot_loaded_open(ot_session *s, const ot_built *built, ot_loaded **loaded, int *outcome,
                   optune_err *err);
void ot_loaded_close(ot_session *s, ot_loaded *loaded);
/* One more with the same modules, for sizes of its own; its own memory is to be freed, and nothing
 * unloaded. Others may run and resize what is bound of the first meanwhile. */
ot_loaded *ot_loaded_like(const ot_loaded *loaded);

/* Scratch is promised on 64 bytes, so a guarded one, whose end is flush with its guard, is rounded
 * up. */
static inline int64_t ot_scratch_bytes(const optune_plan *plan, int i)
{
    return (plan->scratch[i].bytes + 63) / 64 * 64;
}
/* Whether a run, a clone or the end of a kernel looks at an input again once its constants are
 * packed. A library may have kept its address, and a copy engine's map is not looked into. */
bool ot_plan_reads_again(const optune_impl *impl, const optune_plan *plan, int input);

enum { OT_GUARDED = 0, OT_ALIGNED = 1 };
typedef struct ot_bound { /* its launches over one set of buffers */
    ot_session *session;
    ot_loaded *loaded;
    int kind; /* OT_GUARDED or OT_ALIGNED */
    void *scratch[OPTUNE_MAX_SCRATCH];
    void *dims[OPTUNE_MAX_DIM_LISTS];              /* sizes of the session's call */
    optune_tensor_map map[OPTUNE_MAX_TENSOR_MAPS]; /* the plan's, of these buffers */
    /* By optune_phase; what restores is in front of what is timed, as a run does both. */
    int n[3], n_restoring;
    optune_launch *launch[3];
    bool prepacked;
} ot_bound;
int ot_bound_open(ot_session *s, ot_loaded *loaded, int kind, ot_bound **bound,
                  optune_err *err);
int ot_bound_prepack(ot_bound *b, optune_err *err);
/* Arguments that are dims become those of the session's call, which has changed. */
int ot_bound_resize(ot_bound *b, optune_err *err);
/* Fills the outputs, and scratch that is not kept between runs, with a pattern that no right answer
 * has (NaN for floats). After prepacking. */
int ot_bound_poison(ot_bound *b, optune_err *err);
bool ot_bound_intact(const ot_bound *b, char *message, size_t size); /* its scratch */
void ot_bound_close(ot_bound *b);                                    /* runs its TEARDOWN */
/* A function of this process as a launch: it gets { arg }. */
typedef void (*ot_function)(void *const *arg);
optune_launch ot_launch_of(ot_function function, void *arg);
/* rotate.c: each run gets the next of many copies of what is constant. After prepacking; NULL:
 * nothing is, or the target's memory is not of this process. */
typedef struct ot_rotation ot_rotation;
int ot_rotation_open(ot_bound *b, int64_t footprint, ot_rotation **rotation, optune_err *err);
void ot_rotation_close(ot_rotation *rotation); /* before its bound; NULL is fine */
/* What is launched in place of what the bound times; one more than those. Returns how many. */
int ot_rotation_launches(ot_rotation *rotation, optune_launch *launch);
/* Fills the outputs with a pattern that no right answer has: NaN for floats. An integer may be any,
 * so both kinds of buffers hold different ones. */
int ot_session_poison(ot_session *s, int kind, optune_err *err);
/* With numbers, as NaN may be right. After what poisons. */
int ot_session_fill_with_numbers(ot_session *s, int kind, optune_err *err);
int ot_session_fill_outputs(ot_session *s, int kind, int byte, optune_err *err);
/* It holds what one of these put there. */
bool ot_is_poison(optune_dtype dtype, const void *data, int64_t index);

/* ---- tolerance.c: what a dtype can say; 0 of all but floats ------------------------------- */
bool ot_dtype_is_float(optune_dtype dtype);
double ot_dtype_epsilon(optune_dtype dtype);  /* from 1 to the next value */
double ot_dtype_smallest(optune_dtype dtype); /* normal one */
double ot_dtype_largest(optune_dtype dtype);  /* 0: a value of any size has its place in it */

/* ---- verify.c ---------------------------------------------------------------------------- */
/* Compares outputs in this process's memory with a reference: all that is known of it, and then
 * also whether each element was written; or, with `most` above 0, about so many elements from a
 * place that `where` decides. false: wrong, with the first bad element in `message`; *error is the
 * largest error so far as a fraction of its bound. */
bool ot_judge(const optune_call *call, const optune_impl *impl, const ot_reference *reference,
              const void *const *out, int64_t most, uint64_t where, double *error,
              char *message, size_t size);
/* Which elements ot_judge looks at, with `most` above 0: these blocks of the reference; returns how
 * many. */
int ot_judged_blocks(const ot_reference *reference, int64_t most, uint64_t where,
                     const ot_block *block[OT_REFERENCE_BLOCKS]);
/* Compares what is in the outputs with the reference. false: wrong, with the first bad
 * element in `message`; *error is the largest error as a fraction of its bound. */
bool ot_verify_outputs(ot_session *s, int kind, const optune_impl *impl, double *error,
                       char *message, size_t size);
/* Runs a candidate once over guarded buffers and checks everything. Returns an outcome. */
int ot_verify(ot_session *s, ot_loaded *loaded, double *error, char *message, size_t size);

/* ---- measure.c --------------------------------------------------------------------------- */
/* Runs something `count` times and returns the seconds; negative: failed. */
typedef double (*ot_timer)(void *arg, int64_t count);
enum { OT_MAX_SAMPLES = 256 };
typedef struct ot_measured {
    int n;
    double sample[OT_MAX_SAMPLES]; /* seconds of one run */
    int64_t inner;
    ot_interval interval;
    int left_out; /* rounds of another speed, whose samples are not among them */
    bool gave_up; /* it cannot win */
    bool beaten;  /* well measured, and not the best */
    bool failed;
} ot_measured;
void ot_measure(const ot_measure_policy *policy, double best, ot_timer timer, void *arg,
                ot_measured *m);
/* All interleaved, in rounds of which each has a sample; a timer that fails drops out. Rounds that
 * were slow for all of several are left out, of everyone. */
void ot_measure_together(const ot_measure_policy *policy, ot_timer timer, void *const *arg,
                         int n, double seconds, uint64_t seed, ot_measured *m);

/* ---- peak.c, peak_gpu.c ------------------------------------------------------------------- */
int ot_peak(ot_session *s, ot_peaks *peak, optune_err *err);
/* As of a GPU, whatever the device is. */
int ot_peak_gpu(ot_session *s, ot_peaks *peak, optune_err *err);

/* ---- text_module.c ------------------------------------------------------------------------ */
/* A text for the target's compiler, loaded; the caller unloads it. */
int ot_session_load_text(ot_session *s, const ot_text *text, void **module, optune_err *err);
/* The same without a session; *module: the bytes of the file. */
int ot_target_compile_text(const optune_target *target, const optune_device *device,
                           const ot_text *text, ot_text *module, optune_err *err);

/* ---- worker_crash.c: the last word of a dying runner ------------------------------------- */
#define OT_LAST_WORD "crash "
/* Installs handlers for the signals of a crash, which send one packet, OT_LAST_WORD and a text;
 * only runners do. */
void ot_crash_install(int fd);
/* What begins now, a static text: "verifying", "measuring". Handlers are installed again, as code
 * that ran meanwhile may have replaced them. */
void ot_crash_at(const char *doing);
/* Memory that belongs to a guarded buffer, guards included; `name` is copied. */
void ot_crash_zone_add(const void *start, int64_t bytes, const char *name);
void ot_crash_zone_remove(const void *start);

#endif
