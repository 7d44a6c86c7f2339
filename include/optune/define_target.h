/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets: where code runs, and how it gets there. Part of define.h.
 */
#ifndef OPTUNE_DEFINE_TARGET_H
#define OPTUNE_DEFINE_TARGET_H

#include "optune/define_impl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- target: where code runs ------------------------------------------------------------- */

typedef struct optune_argv { /* a command line under construction; no shell ever sees it */
    int n;
    char *word[128]; /* each from malloc, NULL-terminated list */
} optune_argv;
/* Adds a copy of the word; frees all words. */
OPTUNE_API void optune_argv_add(optune_argv *argv, const char *word);
OPTUNE_API void optune_argv_release(optune_argv *argv);

/* One stage with its arguments resolved to addresses or device pointers. */
typedef struct optune_launch {
    void *function; /* from `symbol` */
    const optune_stage *stage;
    void *arg[OPTUNE_MAX_ARGS]; /* buffers, and DIMS, which lie in one: `buffer` handles; INT,
                                   DIM, FLOAT: address of the value; SYMBOL: the function's
                                   address; TENSOR_MAP: a const optune_tensor_map with its
                                   buffer */
} optune_launch;

/* What runs in the process that loads modules, the worker's mostly: `state` is state_size
 * bytes, zeroed. Every slot is as wide as a pointer. */
typedef struct optune_target_worker {
    size_t state_size;
    int (*open)(void *state, const optune_target *target, const optune_device *device,
                optune_err *err);
    void (*close)(void *state);
    int (*load)(void *state, const char *module, void **handle, optune_err *err);
    void (*unload)(void *state, void *handle);
    void *(*symbol)(void *state, void *handle, const char *function);
    /* Opens the library an implementation calls and returns a function of it. */
    void *(*library)(void *state, const char *library, const char *function, optune_err *err);
    /* A buffer that kernels can use. `guarded`: a write past its end is caught (`intact`, or a
     * crash of the worker). */
    int (*alloc)(void *state, int64_t bytes, bool guarded, void **buffer, optune_err *err);
    void (*free)(void *state, void *buffer);
    int (*write)(void *state, void *buffer, const void *from, int64_t bytes);
    int (*read)(void *state, const void *buffer, void *to, int64_t bytes);
    bool (*intact)(void *state, void *buffer); /* false: written outside */
    /* Where this process can touch a buffer. NULL: it cannot. */
    void *(*address)(void *state, void *buffer);
    /* Runs the launches in order, once, and waits. */
    int (*run)(void *state, const optune_launch *launch, int n, optune_err *err);
    /* Runs them `count` times and returns the seconds this took, negative on failure. */
    double (*time)(void *state, const optune_launch *launch, int n, int64_t count,
                   optune_err *err);
    /* Hardware counters over one run, all threads: writes "name=value" lines, or an empty
     * text and the reason in `why`. NULL: none. */
    void (*counters)(void *state, const optune_launch *launch, int n, char *text, size_t size,
                     char *why);
    /* Makes *buffer (NULL: a new one) stand for memory of this process, which kernels then use as
     * it is. NULL: kernels cannot, and copies are made. */
    int (*alias)(void *state, void **buffer, void *memory);

    /* False when this process can run nothing more, as after a fault on the device: the worker
     * is started again. NULL: always true. */
    bool (*alive)(void *state);
    /* Replaces what the caches hold, for the measuring policy `cold`. NULL: it cannot be done. */
    int (*flush)(void *state);
    /* Not 0: what `time` returns is a cost of another kind, which this machine's clock says nothing
     * about: anything above 0. */
    intptr_t costs;
    /* Sets the first bytes of a buffer to this one. NULL: they are written. */
    int (*fill)(void *state, void *buffer, int byte, int64_t bytes);
    /* Copies the first bytes of a buffer to another's. NULL: they pass through this process. */
    int (*copy)(void *state, void *to, const void *from, int64_t bytes);
    /* Reads from that byte of a buffer on. NULL: all of it is read. */
    int (*read_at)(void *state, const void *buffer, int64_t at, void *to, int64_t bytes);
    /* A word for how `flush` empties the caches, which what is measured cold depends on: a line
     * "flush=WORD" behind those of `dependencies`. NULL: none. */
    const char *flush_by;
} optune_target_worker;

/* What needs no state: it runs in the asking process, `compile`'s command and `translate` in
 * processes of their own. Every slot is as wide as a pointer. */
typedef struct optune_target_row {
    const char *name; /* "cpu" */
    const char *summary;
    const char *const *keys;   /* strategy keys, most specific first; NULL-terminated */
    const char *source_suffix; /* ".c", ".cu" */
    const char *module_suffix; /* ".so", ".cubin" */

    /* Finds the device. ENODEV with what is missing and where it was looked for. Called in
     * the process that tunes, never by one that only selects for a stored key. */
    int (*probe)(const optune_target *target, optune_device *device, optune_err *err);
    /* What generated code depends on here: "compiler=gcc 12.2.0". Writes "name=value" lines.
     * ECONFLICT: what the implementation was made of has changed since; a run of it ends. */
    int (*dependencies)(const optune_target *target, const optune_impl *impl, char *text,
                        size_t size, optune_err *err);
    /* Command that turns `source` into `module`; runs in parallel in processes of its own. */
    int (*compile)(const optune_target *target, const optune_device *device,
                   const char *const *flags, int n_flags, const char *source,
                   const char *module, optune_argv *argv, optune_err *err);
    /* The device that the target's options describe (-arch=sm_90), for building where there is
     * none. NULL, or ENODEV: its options do not. */
    int (*assume)(const optune_target *target, optune_device *device, optune_err *err);
    /* The inside of a compiler process that is the worker program itself: what `compile` put
     * after `--compile NAME`. Says what is wrong on stdout; returns the exit code. NULL: none. */
    int (*translate)(char **word, int n);
    /* What a module uses, as its compiler said: a line "kernel=f registers=32 shared=512
     * spilled=0" for each kernel. NULL: nothing is known. */
    int (*resources)(const char *module, char *text, size_t size, optune_err *err);
    double patience_s; /* that building a module may take, and a trial; 0: 20 */

    const char *like; /* another target's name: each slot that this row leaves out, the worker's
                         too, is as there. They share the other's state. NULL: this row is
                         whole */
    optune_target_worker worker;
} optune_target_row;

/* The row of a target as it is used, so that one that is `like` it can call its hooks. NULL:
 * none. */
OPTUNE_API const optune_target_row *optune_target_find(const char *name);

#define OPTUNE_TARGET(id)                                                                      \
    extern const optune_target_row optune_target_##id;                                         \
    const optune_target_row optune_target_##id

#ifdef __cplusplus
}
#endif
#endif
