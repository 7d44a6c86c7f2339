/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets: their text, their rows, and the device behind them. Never learns what an operator
 * is.
 */
#ifndef OPTUNE_TARGET_H
#define OPTUNE_TARGET_H

#include "base/base.h"

/* What the build makes of target_<name>.c. */
extern const optune_target_row *const ot_target_table[];

/* The worker's functions that no row lacks, under the names that rows' files give them. */
#define OT_WORKER_FUNCTIONS                                                                    \
    .load = load, .unload = unload, .symbol = symbol, .alloc = alloc, .free = free_buffer,     \
    .write = write_buffer, .read = read_buffer, .intact = intact, .run = run,                  \
    .time = time_runs

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
/* tvm.c */
/* A target as TVM 0.6 to 0.19 write it in a log: words, a JSON object, a tag. Each option that
 * means nothing here is passed over and told to `ignored` (may be NULL). */
int ot_target_from_tvm(const char *text, optune_target *target,
                       void (*ignored)(void *arg, const char *option), void *arg,
                       optune_err *err);
/* The reverse, as TVM 0.19 takes it: `llvm -mcpu=x86-64-v4 -num-cores=2`. `device`, when not NULL,
 * fills in what the target leaves open. False: TVM has no such kind. */
bool ot_target_to_tvm(const optune_target *target, const optune_device *device, ot_text *to);
/* Finds the device and settles target->threads (0 becomes the device's cores). */
int ot_target_probe(optune_target *target, optune_device *device, optune_err *err);

/* cpu_topology.c: the only file that includes hwloc. Cores are numbered 0 .. n-1 within what
 * this process may use when it first asks. */
int ot_cpu_topology(optune_device *device, optune_err *err); /* cores, caches, memory, name, and
                                                                the key's first part */
/* cpu_known.c: the same, as an earlier process of this user noted it where nothing has changed. */
int ot_cpu_known(optune_device *device, optune_err *err);
/* Circumstances of a note: lines that say which machine this is, and since when it runs. */
bool ot_cpu_machine(ot_text *to);
const void *ot_cpu_looker(void); /* a function of the library that looks at the machine */
/* Binds this thread and those it makes. */
int ot_cpu_bind(int first_core, int n, optune_err *err);
int ot_cpu_bind_thread(pid_t thread, int core, optune_err *err); /* by its kernel id */
int ot_cpu_place(int core); /* its hardware thread as the system numbers it; -1: none */

/* cpu_spin.c: a GOMP_SPINCOUNT for so many seconds on this processor; asked for once, it is known
 * in processes that are forked later. */
int64_t ot_cpu_spins(double seconds);
/* With looks of `each` seconds; within 1e3 and 1e6, whatever that is. */
int64_t ot_cpu_spins_of(double seconds, double each);

enum { OT_TEAM_PARTS = 4 }; /* of a loop, for each thread that shares it */

/* cpu_team.c: threads for the parallel loops of modules, which find them in a variable `ot_team`
 * (strategy/team_source.c). */
typedef struct ot_cpu_team {
    /* Calls body(arg) n * OT_TEAM_PARTS times, by at most n threads, and returns when all have
     * returned. */
    void (*run)(void (*body)(void *), void *arg, unsigned n);
    /* Which of these calls this thread is in, and of how many; 0 of 1 elsewhere. */
    int (*number)(void);
    int (*count)(void);
    /* Which of the n threads this is, of the outermost run's where runs are within one another: a
     * run within a part is all of the thread's that has the part, and asks for as many threads as
     * the outermost one, or more. 0 elsewhere. */
    int (*thread)(void);
} ot_cpu_team;
void ot_cpu_team_give(void *module); /* from dlopen; nothing where it wants none */
void ot_cpu_team_rest(void);         /* this thread's helpers end; its next run has others */

/* cpu_compiler.c: the C compiler that PATH leads to; ETOOL, with the remedy: to none. */
int ot_cpu_compiler(char *path, size_t size, optune_err *err);
int ot_cpu_compiler_version(char *to, size_t size, optune_err *err); /* "gcc 12.2.0" */
/* Whether a module compiled with these flags of its own is linked without the system's libraries,
 * which takes little more than half as long. What loads modules has libc, libm and libgomp, but for
 * the few functions that each module has of its own (atexit, of older ones stat). Other compilers'
 * OpenMP is another library, and a flag that decides more than code may ask for one. */
bool ot_cpu_links_bare(const optune_target *target, const char *const *flags, int n_flags);

/* cpu_makes.c: of these instructions (optune_dots) those that this compiler (its path, then flags)
 * and its assembler make, all where that cannot be told. What was found out is noted. */
int ot_cpu_makes(const optune_argv *compiler, int dots);
/* Appends which instructions this processor has and the device, probed here, has not, and why, in
 * words. False: there are none, and nothing is appended. */
bool ot_cpu_unmade(const optune_device *device, ot_text *to);

/* cpu_group.c: calls `look` with the folder, below `mount` (/sys/fs/cgroup), of every control group
 * that the file `groups` (/proc/self/cgroup) names, and of its parents: of the unified hierarchy
 * and of version 1's that has this controller. */
void ot_cpu_groups(const char *groups, const char *mount, const char *controller,
                   void (*look)(void *arg, const char *folder, bool unified), void *arg);

/* cpu_quota.c: the cores' worth of time that the control groups named in `groups`
 * (/proc/self/cgroup), found under `mount` (/sys/fs/cgroup), allow; 0: no limit. */
double ot_cpu_quota(const char *groups, const char *mount);

/* memory.c: bytes that a process may still take: what the system has left, or less where a control
 * group says so. `root` is in front of /proc and /sys, "" but in tests; -1: nobody tells. */
int64_t ot_memory_available(const char *root);

/* cpu_load.c: whose the machine was for a while. Counters of the kernel at one moment; the
 * difference of two says what came in between. */
enum { OT_LOAD_THREADS = 512, OT_LOAD_PROCESSES = 64 };
typedef struct ot_cpu_load {
    double at;           /* ot_now() */
    int cores;           /* that were looked at */
    double busy, stolen; /* seconds of these together */
    double own;          /* processor seconds of the processes */
    double throttled;    /* seconds that their control groups were stopped */
    int64_t heat;        /* how often these cores were slowed by heat */
    bool tells_waits;    /* the threads' waiting is known: */
    int n_processes, n_threads;
    struct {
        int process; /* its number among the pids */
        pid_t id;
        double waited; /* seconds it could have run and did not */
    } thread[OT_LOAD_THREADS];
} ot_cpu_load;
/* Of processes, of which one works at a time, on these cores (the system's numbers). What the
 * kernel does not tell stays 0. `root` is in front of /proc and /sys, "" but in tests. */
void ot_cpu_load_read(const char *root, const pid_t *pid, int n_pids, const int *core, int n,
                      ot_cpu_load *load);
/* Shares of a time in which the machine was not the process's, 0 .. 1. */
typedef struct ot_disturbance {
    double seconds;   /* the time */
    double stolen;    /* by the machine below this virtual one */
    double waited;    /* by the thread that waited longest for its core */
    double shared;    /* of the cores, with other processes; only where `waited` is not told */
    double throttled; /* stopped, as the control group had used up its time */
    double hot;       /* 1: slowed by heat */
} ot_disturbance;
void ot_cpu_load_between(const ot_cpu_load *before, const ot_cpu_load *after,
                         ot_disturbance *disturbance);
void ot_disturbance_add(ot_disturbance *to,
                        const ot_disturbance *more);  /* one time after another */
double ot_disturbance_share(const ot_disturbance *d); /* the largest of them */
/* The largest of them is too much for a measurement to be believed. */
bool ot_disturbed(const ot_disturbance *d);

/* cpu_pace.c: seconds that a few thousand turns of a loop take on the core at hand: microseconds,
 * more where its clock is low or its other thread is busy. */
double ot_cpu_pace(void);

/* cpu_state.c: what may change while the device stays the same, and moves costs: "kernel",
 * "microcode", and of this core "governor", "boost" and "most_mhz" (its limit), as "name=value"
 * lines. What is not told is left out. `root` as above. */
void ot_cpu_state(const char *root, int core, ot_text *to);

/* cpu_features.c: what instructions there are. */
typedef struct ot_cpu_features {
    int vector_bytes, vector_registers;
    bool avx512;                  /* F, DQ, BW, VL */
    int dots;                     /* of optune_dots */
    char level[OPTUNE_NAME_SIZE]; /* x86-64-v4, aarch64 */
    char word[16];                /* avx512, avx2, sse2, sve, neon: for the device's key */
    uint64_t digest;              /* of all features that a compiler can use */
} ot_cpu_features;
void ot_cpu_features_of(const char *flags, const char *machine, ot_cpu_features *f);
void ot_cpu_features_here(ot_cpu_features *f); /* from /proc/cpuinfo, read once */

/* cpu_sums.c: whether this processor has AVX-512 BF16 and takes longer for its sums than for the
 * same in float32. Measured, in about 50 us. */
bool ot_cpu_bf16_slow(void);
/* What times of the one over those of the other, `n` turns, say of that. */
bool ot_cpu_sums_slow(const double *ratio, int n);

/* cpu_buffer.c: memory for CPU kernels. A guarded buffer ends where OT_GUARD_BYTES that nobody
 * may touch begin, and starts after as many; canaries fill what alignment leaves over. */
enum { OT_GUARD_BYTES = 1 << 20 };
/* Every 16 bits of what surrounds guarded buffers: no number as a float of any width, so that
 * reading outside shows in what is computed. */
enum { OT_CANARY = 0xFFFB };
typedef struct ot_cpu_buffer ot_cpu_buffer;
typedef struct ot_cpu_buffers { /* a list of open ones; zeroed: empty */
    ot_cpu_buffer *first;
} ot_cpu_buffers;
void ot_cpu_buffers_add(ot_cpu_buffers *all, ot_cpu_buffer *b);
void ot_cpu_buffers_forget(ot_cpu_buffers *all); /* before it ends; its buffers need not */
/* No line of them is in any core's cache afterwards. false: they are more than `most` bytes, or
 * this processor lets no program do that; nothing was done. */
bool ot_cpu_buffers_evict(ot_cpu_buffers *all, int64_t most);
ot_cpu_buffer *ot_cpu_buffer_open(int64_t bytes, bool guarded, optune_err *err); /* zeroed */
/* *b (NULL: a new one) stands for memory that somebody else owns. */
void ot_cpu_buffer_alias(ot_cpu_buffer **b, void *memory);
void ot_cpu_buffer_close(ot_cpu_buffer *b); /* leaves its list, too */
void *ot_cpu_buffer_address(const ot_cpu_buffer *b);
bool ot_cpu_buffer_intact(const ot_cpu_buffer *b);

/* cpu_library.c: libraries that implementations call; opened at run time, never linked. */
/* Opens one for this many threads; ENODEV says which names were tried and what to install. Sets
 * environment variables: for the worker process only. */
int ot_cpu_library_open(const char *lib, int threads, void **handle, optune_err *err);
/* A function of it by its plain name; NULL says what the library is that has none. */
void *ot_cpu_library_function(const char *lib, void *handle, const char *function,
                              optune_err *err);
/* "name=value" lines of what is really there: opens it here. */
int ot_cpu_library_describe(const char *lib, char *text, size_t size, optune_err *err);
/* The same, asked of the worker program (`optune-worker --library LIB`), kept for the
 * process. */
int ot_cpu_library_ask(const char *lib, char *text, size_t size, optune_err *err);
/* The environment variable that names this library's file here; NULL: none does. */
const char *ot_cpu_library_named(const char *lib);

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
