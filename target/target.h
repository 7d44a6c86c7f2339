/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets: their text, their rows, and the device behind them. Never learns what an operator
 * is.
 */
#ifndef OPTUNE_TARGET_H
#define OPTUNE_TARGET_H

#include "base/base.h"

/* target.c */
/* Rows in tree, then those added by plugins. */
const optune_target_row *const *ot_targets(int *n);
int ot_target_add(const optune_target_row *row, optune_err *err); /* ECONFLICT: name exists */
const optune_target_row *ot_target_find(const char *kind);        /* NULL: none */
/* `cpu`, `cpu -threads=2 -libs=cblas,dnnl -mcpu=native`, TVM's `llvm -mcpu=skylake-avx512` (an
 * alias of cpu). Options: -threads -libs -keys -mcpu -arch -model -device -cflags. An unknown
 * kind or option is named with the nearest spelling. */
int ot_target_parse(const char *text, optune_target *target, optune_err *err);
/* Canonical text. `measured`: only what changes a measurement (no -libs, no -device, no
 * -keys); that one is part of every record, and names the number of threads once the device
 * is known. */
void ot_target_print(const optune_target *target, bool measured, ot_text *to);
/* Finds the device and settles target->threads (0 becomes the device's cores). */
int ot_target_probe(optune_target *target, optune_device *device, optune_err *err);

/* cpu_topology.c: the only file that includes hwloc. Cores are numbered 0 .. n-1 within what
 * this process may use when it first asks. */
int ot_cpu_topology(optune_device *device, optune_err *err); /* cores, caches, memory, name, and
                                                                the key's first part */
/* Binds this thread and those it makes. */
int ot_cpu_bind(int first_core, int n, optune_err *err);
int ot_cpu_bind_thread(pid_t thread, int core, optune_err *err); /* by its kernel id */
int ot_cpu_place(int core); /* its hardware thread as the system numbers it; -1: none */

/* cpu_quota.c: the cores' worth of time that the control groups named in `groups`
 * (/proc/self/cgroup), found under `mount` (/sys/fs/cgroup), allow; 0: no limit. */
double ot_cpu_quota(const char *groups, const char *mount);

/* cpu_features.c: what instructions there are. */
typedef struct ot_cpu_features {
    int vector_bytes, vector_registers;
    bool avx512;                  /* F, DQ, BW, VL */
    char level[OPTUNE_NAME_SIZE]; /* x86-64-v4, aarch64 */
    char word[16];                /* avx512, avx2, sse2, sve, neon: for the device's key */
    uint64_t digest;              /* of all features that a compiler can use */
} ot_cpu_features;
void ot_cpu_features_of(const char *flags, const char *machine, ot_cpu_features *f);
void ot_cpu_features_here(ot_cpu_features *f); /* from /proc/cpuinfo, read once */

/* cpu_buffer.c: memory for CPU kernels. A guarded buffer ends where OT_GUARD_BYTES that nobody
 * may touch begin, and starts after as many; canaries fill what alignment leaves over. */
enum { OT_GUARD_BYTES = 1 << 20 };
typedef struct ot_cpu_buffer ot_cpu_buffer;
ot_cpu_buffer *ot_cpu_buffer_open(int64_t bytes, bool guarded, optune_err *err); /* zeroed */
/* *b (NULL: a new one) stands for memory that somebody else owns. */
void ot_cpu_buffer_alias(ot_cpu_buffer **b, void *memory);
void ot_cpu_buffer_close(ot_cpu_buffer *b);
void *ot_cpu_buffer_address(const ot_cpu_buffer *b);
bool ot_cpu_buffer_intact(const ot_cpu_buffer *b);

/* cpu_library.c: libraries that implementations call; opened at run time, never linked. */
/* Opens one for this many threads; ENODEV says which names were tried and what to install. Sets
 * environment variables: for the worker process only. */
int ot_cpu_library_open(const char *lib, int threads, void **handle, optune_err *err);
/* "name=value" lines of what is really there: opens it here. */
int ot_cpu_library_describe(const char *lib, char *text, size_t size, optune_err *err);
/* The same, asked of the worker program (`optune-worker --library LIB`), kept for the
 * process. */
int ot_cpu_library_ask(const char *lib, char *text, size_t size, optune_err *err);

/* library_word.c: what loaded modules of host code say of the libraries they call. */
typedef struct ot_library_word {
    struct ot_library_word *next;
    const void *module;
    char *text; /* the module's; empty: all is well */
} ot_library_word;
typedef struct ot_library_words {
    ot_library_word *first;
} ot_library_words;
void ot_library_words_add(ot_library_words *words, void *module); /* as dlopen gives it */
void ot_library_words_drop(ot_library_words *words, const void *module); /* before dlclose */
/* EIO with a module's word, which is then taken away; OK when none said anything. */
int ot_library_words_check(const ot_library_words *words, optune_err *err);

/* program.c: the worker program: $OPTUNE_WORKER, else beside this library or program or in the
 * places where it is installed. ETOOL lists where it was looked for. */
int ot_worker_program(char *path, size_t size, optune_err *err);

/* cpu_counters.c: the only file that includes PAPI. */
typedef struct ot_counters ot_counters;
/* NULL with the reason in `why` when there are none. `events` NULL: cycles, instructions, cache
 * misses, whatever of these is there. */
ot_counters *ot_counters_open(const char *const *events, int n, char *why);
int ot_counters_start(ot_counters *c, optune_err *err);
int ot_counters_stop(ot_counters *c, optune_err *err);
int ot_counters_read(const ot_counters *c, int64_t runs, char *text, size_t size); /* lines */
void ot_counters_close(ot_counters *c);

#endif
