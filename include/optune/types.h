/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain values of optune: dtypes, dims, tensor types, attributes, calls, configs, devices,
 * targets, outcomes. All are fixed-size structs without owned pointers: copy them with `=`,
 * release nothing. Their limits are named here; exceeding one is an error, never a truncation.
 *
 * The identity of a call is its canonical text, see docs/formats.md; these structs are its
 * parsed form and are never written to disk.
 */
#ifndef OPTUNE_TYPES_H
#define OPTUNE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define OPTUNE_API __attribute__((visibility("default")))
#define OPTUNE_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define OPTUNE_EXTENSION __extension__ /* in C99, too, where a union has a name */
#else
#define OPTUNE_API
#define OPTUNE_PRINTF(f, a)
#define OPTUNE_EXTENSION
#endif

enum {
    OPTUNE_MAX_RANK = 8,       /* dims of one tensor */
    OPTUNE_MAX_INPUTS = 64,    /* inputs of one call */
    OPTUNE_MAX_OUTPUTS = 8,    /* outputs of one call */
    OPTUNE_MAX_SYMBOLS = 16,   /* symbolic dims of one dispatch table */
    OPTUNE_MAX_ATTRS = 24,     /* attributes of one operator */
    OPTUNE_MAX_LIST = 12,      /* integers in one attribute or one knob entity */
    OPTUNE_MAX_EPILOGUES = 4,  /* operators fused behind the one of a call */
    OPTUNE_EPILOGUE_ATTRS = 6, /* attributes of one of them */
    OPTUNE_MAX_KNOBS = 32,     /* knobs of one config space */
    OPTUNE_MAX_LIBS = 8,       /* libraries a target may name */
    OPTUNE_MAX_KEYS = 8,       /* strategy keys of a target */
    OPTUNE_NAME_SIZE = 64,     /* any name, with its terminating zero */
    OPTUNE_DIM_NAME_SIZE = 16, /* a symbolic dim's name, likewise */
    OPTUNE_KNOB_NAME_SIZE = 32,
    OPTUNE_WORD_SIZE = 32,   /* a text-valued attribute or knob, e.g. a layout */
    OPTUNE_TEXT_SIZE = 1024, /* canonical text of a config, a target or a device key */
    OPTUNE_CALL_TEXT_SIZE = 32768, /* that of any call */
    OPTUNE_WHY_SIZE = 256,   /* one sentence saying why something does not apply */
    OPTUNE_ERR_SIZE = 1024,
};

/* Everything that can go wrong outside a candidate: X(name, value, sentence). */
#define OPTUNE_STATUS_MAP(X)                                                                   \
    X(OK, 0, "success")                                                                        \
    X(EUSAGE, -1, "wrong usage")                                                               \
    X(ESYNTAX, -2, "malformed text")                                                           \
    X(ETYPE, -3, "types do not fit together")                                                  \
    X(ENOENT, -4, "no such thing")                                                             \
    X(ENODEV, -5, "no such device")                                                            \
    X(ENOMEM, -6, "out of memory")                                                             \
    X(ELIMIT, -7, "a fixed limit would be exceeded")                                           \
    X(EIO, -8, "input or output failed")                                                       \
    X(ESTORE, -9, "the database refused")                                                      \
    X(EDAMAGED, -10, "data is damaged")                                                        \
    X(EVERSION, -11, "version not understood")                                                 \
    X(ETOOL, -12, "a program that is needed cannot be run")                                    \
    X(EWORKER, -13, "the worker process failed")                                               \
    X(ETIMEOUT, -14, "time limit reached")                                                     \
    X(EINTERRUPTED, -15, "interrupted")                                                        \
    X(EUNSUPPORTED, -16, "not supported")                                                      \
    X(ENET, -17, "network transfer failed")                                                    \
    X(ECONFLICT, -18, "conflicts with something that exists")                                  \
    X(EPARTIAL, -19, "done in part")

enum optune_status {
#define OPTUNE_STATUS_ENUM(name, value, sentence) OPTUNE_##name = (value),
    OPTUNE_STATUS_MAP(OPTUNE_STATUS_ENUM)
#undef OPTUNE_STATUS_ENUM
};

/* What failed, in one line for a person. Untouched on success. */
typedef struct optune_err {
    int status;
    char text[OPTUNE_ERR_SIZE];
} optune_err;

/* ---- tensor types ------------------------------------------------------------------------ */

typedef enum optune_dtype_code {
    OPTUNE_DTYPE_UNKNOWN = 0,
    OPTUNE_DTYPE_FLOAT,
    OPTUNE_DTYPE_BFLOAT,
    OPTUNE_DTYPE_INT,
    OPTUNE_DTYPE_UINT,
    OPTUNE_DTYPE_BOOL,
} optune_dtype_code;

typedef struct optune_dtype {
    uint8_t code; /* optune_dtype_code */
    uint8_t bits;
    uint16_t lanes; /* 1 for scalars */
} optune_dtype;

#define OPTUNE_DIM_MAX INT64_MAX

/* The largest size that a dim may have. A tensor's elements, in double precision or its own type,
 * take less than 2^63 bytes. What is larger is refused where it is read, or where it follows. */
#define OPTUNE_MAX_DIM ((int64_t)1 << 40)

/* A dim is constant (min == max), a range, or unknown (0 .. OPTUNE_DIM_MAX). Equal names in
 * one call are equal dims. */
typedef struct optune_dim {
    int64_t min, max;
    char name[OPTUNE_DIM_NAME_SIZE]; /* empty: anonymous */
} optune_dim;

typedef struct optune_tensor {
    optune_dtype dtype;
    int32_t rank; /* -1: nothing is known */
    optune_dim dim[OPTUNE_MAX_RANK];
} optune_tensor;

/* ---- calls ------------------------------------------------------------------------------- */

typedef enum optune_attr_kind {
    OPTUNE_ATTR_INT,
    OPTUNE_ATTR_FLOAT,
    OPTUNE_ATTR_BOOL,
    OPTUNE_ATTR_WORD, /* a bare word: a layout, a mode, a numerics class */
    OPTUNE_ATTR_INTS, /* a list of integers */
    OPTUNE_ATTR_DTYPE,
} optune_attr_kind;

typedef struct optune_attr {
    const char *name; /* the operator's own static text */
    uint8_t kind;     /* optune_attr_kind */
    uint8_t n;        /* INTS: how many */
    bool none;        /* INT: it is the word `none`, and i[0] says nothing */
    OPTUNE_EXTENSION union {
        int64_t i[OPTUNE_MAX_LIST]; /* INT and BOOL use i[0] */
        double f;
        char word[OPTUNE_WORD_SIZE];
        optune_dtype dtype; /* code UNKNOWN: left to the type relation */
    };
} optune_attr;

typedef struct optune_input {
    optune_tensor type;
    bool is_const; /* may be packed once, outside the timed part */
} optune_input;

struct optune_op;

/* An elementwise or broadcast operator applied to what comes before it in a fused call. It
 * keeps the shape and the dtype of output[0]. */
typedef struct optune_epilogue {
    const struct optune_op *op;
    int chain;          /* which of its inputs is the value of what comes before */
    int extra, n_extra; /* its other inputs, in order: the call's input[extra .. + n_extra) */
    int n_attrs;        /* without `math`, which the whole call shares */
    optune_attr attr[OPTUNE_EPILOGUE_ATTRS];
} optune_epilogue;

/* An operator with concrete attributes, input types and constness, and its output types as
 * far as the type relation could tell. Operators fused behind it have their inputs after its
 * own: input[n_inputs .. n_inputs + n_extra). */
typedef struct optune_call {
    const struct optune_op *op; /* lives for ever */
    int n_inputs, n_outputs, n_attrs;
    optune_input input[OPTUNE_MAX_INPUTS];
    optune_tensor output[OPTUNE_MAX_OUTPUTS];
    optune_attr attr[OPTUNE_MAX_ATTRS]; /* all of the operator's, in its order */
    int n_extra, n_epilogues;
    optune_epilogue epilogue[OPTUNE_MAX_EPILOGUES]; /* in the order they are applied */
} optune_call;

/* ---- configs ----------------------------------------------------------------------------- */

/* AutoTVM's four knob kinds, with its two-letter names. */
typedef enum optune_knob_kind {
    OPTUNE_KNOB_SPLIT, /* "sp": v[] are sizes, outermost first, their product covers the axis */
    OPTUNE_KNOB_REORDER,  /* "re": v[] is a permutation */
    OPTUNE_KNOB_ANNOTATE, /* "an": v[] are optune_annotation */
    OPTUNE_KNOB_OTHER,    /* "ot": one scalar */
} optune_knob_kind;

typedef enum optune_annotation {
    OPTUNE_ANN_NONE,
    OPTUNE_ANN_UNROLL,
    OPTUNE_ANN_VEC,
    OPTUNE_ANN_PARALLEL,
    OPTUNE_ANN_FUSE,
    OPTUNE_ANN_VTHREAD,
    OPTUNE_ANN_BLOCK_X,
    OPTUNE_ANN_BLOCK_Y,
    OPTUNE_ANN_BLOCK_Z,
    OPTUNE_ANN_THREAD_X,
    OPTUNE_ANN_THREAD_Y,
    OPTUNE_ANN_THREAD_Z,
} optune_annotation;

typedef enum optune_scalar_kind {
    OPTUNE_SCALAR_INT,
    OPTUNE_SCALAR_BOOL,
    OPTUNE_SCALAR_FLOAT,
    OPTUNE_SCALAR_WORD,
} optune_scalar_kind;

typedef struct optune_entity {
    char name[OPTUNE_KNOB_NAME_SIZE];
    uint8_t kind;   /* optune_knob_kind */
    uint8_t scalar; /* OTHER: optune_scalar_kind */
    uint8_t n;      /* values in v[] */
    OPTUNE_EXTENSION union {
        int64_t v[OPTUNE_MAX_LIST];
        double f;
        char word[OPTUNE_WORD_SIZE];
    };
} optune_entity;

/* One chosen entity for each knob, in definition order. `index` is its mixed-radix number in
 * the space it came from, first knob least significant; -1 when it came from elsewhere. */
typedef struct optune_config {
    int n;
    int64_t index;
    optune_entity entity[OPTUNE_MAX_KNOBS];
} optune_config;

/* ---- where code runs --------------------------------------------------------------------- */

/* A parsed target, written like TVM's: `cpu -threads=2 -libs=cblas,dnnl`. */
typedef struct optune_target {
    char kind[OPTUNE_NAME_SIZE];
    int n_keys;
    char key[OPTUNE_MAX_KEYS][OPTUNE_NAME_SIZE]; /* strategy keys, most specific first */
    int n_libs;
    char lib[OPTUNE_MAX_LIBS][OPTUNE_NAME_SIZE]; /* libraries eligible for selection */
    int threads;                                 /* 0: all of the device's cores */
    char arch[OPTUNE_NAME_SIZE];   /* cuda: sm_90; cpu: -mcpu's value; empty: the device's */
    char model[OPTUNE_NAME_SIZE];  /* TVM's -model */
    char device[OPTUNE_NAME_SIZE]; /* which one of several: an ordinal or a part of its name */
    char cflags[OPTUNE_TEXT_SIZE / 2]; /* replaces the default compiler flags when not empty */
} optune_target;

/* Instructions of a CPU that add up products of numbers narrower than the sum: pairs of bfloat16
 * into float32, four of 8-bit integers into an int32; of vectors (AVX-512 BF16 and VNNI), and of
 * tiles (AMX). Not an instruction: BF16_SLOW, sums of bfloat16 by that of vectors take longer than
 * those of as many products in float32. */
typedef enum optune_dots {
    OPTUNE_DOT_BF16 = 1,
    OPTUNE_DOT_I8 = 2,
    OPTUNE_DOT_TILE_BF16 = 4,
    OPTUNE_DOT_TILE_I8 = 8,
    OPTUNE_DOT_BF16_SLOW = 16
} optune_dots;

/* What is known of a device, a field a line. This list is the struct, the bytes in a store, the
 * line of a log, the words of the worker and JSON; a field that is added at its end is in all of
 * them. X(kind, name, sentence): WORD and LABEL are texts, a LABEL of two names' length. */
#define OPTUNE_DEVICE_MAP(X)                                                                   \
    X(LABEL, key, "identity; part of every record")                                            \
    X(LABEL, name, "for people")                                                               \
    X(WORD, kind, "the target kind that found it")                                             \
    X(WORD, arch, "skylake-avx512, sm_90 ...")                                                 \
    X(COUNT, cores, "physical cores, or multiprocessors")                                      \
    X(COUNT, threads, "threads a plan may use, after the target's -threads")                   \
    X(COUNT, vector_bytes, "widest vector register")                                           \
    X(COUNT, vector_registers, "how many of these there are")                                  \
    X(BYTES, l1, "data cache of a core")                                                       \
    X(BYTES, l2, "data cache of a core")                                                       \
    X(BYTES, l3, "data cache that cores share")                                                \
    X(BYTES, memory, "all of it")                                                              \
    X(COUNT, warp, "threads in one; this and what follows are a GPU's")                        \
    X(COUNT, max_threads_per_block, "at most")                                                 \
    X(EXTENT, max_block, "threads along each dim of a block, at most")                         \
    X(BYTES, max_shared, "shared memory of a block, at most")                                  \
    X(COUNT, registers, "of a block, 32 bits wide")                                            \
    X(COUNT, cc_major, "compute capability")                                                   \
    X(COUNT, cc_minor, "compute capability")                                                   \
    X(FLAG, no_float64, "OpenCL: it does not compute in double precision")                     \
    X(COUNT, dots, "CPUs: bits of optune_dots, sums of narrow products in one instruction")

/* What each kind of these is in C. */
#define OPTUNE_DEVICE_LABEL(name) char name[OPTUNE_NAME_SIZE * 2];
#define OPTUNE_DEVICE_WORD(name) char name[OPTUNE_NAME_SIZE];
#define OPTUNE_DEVICE_COUNT(name) int name;
#define OPTUNE_DEVICE_BYTES(name) int64_t name;
#define OPTUNE_DEVICE_EXTENT(name) int name[3];
#define OPTUNE_DEVICE_FLAG(name) bool name;

/* A physical thing, found by probing a target; or, for a stored key, what is known of it.
 * Zero means unknown or not applicable. Sizes are bytes. */
typedef struct optune_device {
#define OPTUNE_DEVICE_FIELD(kind, name, ...) OPTUNE_DEVICE_##kind(name)
    OPTUNE_DEVICE_MAP(OPTUNE_DEVICE_FIELD)
#undef OPTUNE_DEVICE_FIELD
} optune_device;

/* What an implementation is asked about. All three outlive the question. */
typedef struct optune_task {
    const optune_call *call;
    const optune_target *target;
    const optune_device *device;
} optune_task;

/* ---- outcomes ---------------------------------------------------------------------------- */

/* How a trial ended: X(name, AutoTVM's error number, text). Numbers 9 and up are ours. */
#define OPTUNE_OUTCOME_MAP(X)                                                                  \
    X(OK, 0, "ok")                                                                             \
    X(INSTANTIATION, 1, "instantiation")                                                       \
    X(COMPILE, 2, "compile")                                                                   \
    X(COMPILE_DEVICE, 3, "compile device")                                                     \
    X(RUNTIME, 4, "runtime")                                                                   \
    X(WRONG, 5, "wrong")                                                                       \
    X(BUILD_TIMEOUT, 6, "build timeout")                                                       \
    X(RUN_TIMEOUT, 7, "run timeout")                                                           \
    X(UNKNOWN, 8, "unknown")                                                                   \
    X(CRASH, 9, "crash")

typedef enum optune_outcome_kind {
#define OPTUNE_OUTCOME_ENUM(name, value, text) OPTUNE_OUTCOME_##name = (value),
    OPTUNE_OUTCOME_MAP(OPTUNE_OUTCOME_ENUM)
#undef OPTUNE_OUTCOME_ENUM
} optune_outcome_kind;

/* What is known of one trial, a field a line. This list is the struct, the bytes in a store, the
 * line of a log, the words of the worker, JSON and the tables of docs/formats.md; a field that is
 * added at its end is in all of them. X(kind, name, who, log, identity, shown, unit, sentence):
 *   kind      below; WORD, PROSE, LINES and JSON are texts. One CONFIG and one SAMPLES at most
 *   who       ASKER knows it before the trial or learns it after it, WORKER tells it of the trial
 *   log       OURS: under `optune` of a log's line, LINE: in AutoTVM's own part, NONE: in neither
 *   identity  KEY: another value is another record; REST: it is not. New ones are REST, as what
 *             is stored would be taken for new
 *   shown     in JSON: of an ANSWER (query, select), of a RUN, of BOTH, of NONE */
#define OPTUNE_RECORD_MAP(X)                                                                   \
    X(WORD, call, ASKER, OURS, KEY, NONE, "", "canonical workload")                            \
    X(WORD, op, ASKER, OURS, KEY, NONE, "", "its operator")                                    \
    X(WORD, target, ASKER, OURS, KEY, NONE, "", "canonical, without -libs and -device")        \
    X(WORD, device, ASKER, OURS, KEY, NONE, "", "the device's key")                            \
    X(WORD, policy, ASKER, OURS, KEY, NONE, "", "of measuring; only equal ones compare")       \
    X(WORD, impl, ASKER, OURS, KEY, RUN, "", "implementation")                                 \
    X(WORD, digest, ASKER, OURS, KEY, NONE, "",                                                \
      "hex; of its row, bodies, headers and the host code behind them")                        \
    X(CONFIG, config, ASKER, LINE, KEY, BOTH, "", "entities, see Config")                      \
    X(LINES, depends, ASKER, OURS, KEY, NONE, "", "what the outcome depends on, see below")    \
    X(OUTCOME, outcome, WORKER, OURS, KEY, NONE, "", "how it ended, see below")                \
    X(PROSE, message, WORKER, OURS, REST, NONE, "", "what it said when it is not `ok`")        \
    X(REAL, cost, WORKER, OURS, REST, BOTH, "s", "median of one run")                          \
    X(REAL, low, WORKER, OURS, REST, RUN, "s", "of the median's 95 % interval")                \
    X(REAL, high, WORKER, OURS, REST, RUN, "s", "of the median's 95 % interval")               \
    X(SAMPLES, sample, WORKER, LINE, KEY, BOTH, "s", "one run of each sample, as taken")       \
    X(COUNT, inner, WORKER, OURS, KEY, NONE, "", "runs per sample")                            \
    X(REAL, error, WORKER, OURS, REST, NONE, "", "largest seen, as a fraction of its bound")   \
    X(BITS, seed, WORKER, OURS, KEY, NONE, "", "hex; of the inputs it was verified with")      \
    X(FLAG, final, ASKER, OURS, KEY, BOTH, "", "measured interleaved with other finalists")    \
    X(LINES, counters, WORKER, OURS, REST, NONE, "", "of the hardware, per run; see below")    \
    X(REAL, all_cost, ASKER, LINE, REST, NONE, "s", "of the trial: compile, verify, measure")  \
    X(REAL, time, ASKER, LINE, KEY, ANSWER, "s", "unix time at its end")                       \
    X(WORD, tool, ASKER, OURS, REST, ANSWER, "", "version of optune, or what wrote the log")   \
    X(JSON, task, ASKER, LINE, REST, NONE, "", "AutoTVM's [target, task, args, kwargs]")       \
    X(PROSE, source, ASKER, NONE, REST, ANSWER, "", "`run`, or the log it was read from")      \
    X(LINES, host, ASKER, OURS, REST, NONE, "", "the machine's state, by which costs move")

/* What each kind is in C. */
#define OPTUNE_RECORD_WORD(name) const char *name;  /* one short line; NULL: absent */
#define OPTUNE_RECORD_PROSE(name) const char *name; /* any text */
#define OPTUNE_RECORD_LINES(name) const char *name; /* "name=value" lines */
#define OPTUNE_RECORD_JSON(name) const char *name;
#define OPTUNE_RECORD_REAL(name) double name; /* infinity: there is none */
#define OPTUNE_RECORD_COUNT(name) int64_t name;
#define OPTUNE_RECORD_BITS(name) uint64_t name;
#define OPTUNE_RECORD_FLAG(name) bool name;
#define OPTUNE_RECORD_OUTCOME(name) int name; /* optune_outcome_kind */
#define OPTUNE_RECORD_CONFIG(name) optune_config name;
#define OPTUNE_RECORD_SAMPLES(name)                                                            \
    int n_##name##s;                                                                           \
    const double *name;

/* Texts and samples are owned by whoever made the record (an arena, usually) and outlive it. */
typedef struct optune_record {
#define OPTUNE_RECORD_FIELD(kind, name, ...) OPTUNE_RECORD_##kind(name)
    OPTUNE_RECORD_MAP(OPTUNE_RECORD_FIELD)
#undef OPTUNE_RECORD_FIELD
} optune_record;

#ifdef __cplusplus
}
#endif
#endif
