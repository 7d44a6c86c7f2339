/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulation of a GPU: a stand-in for libOpenCL.so.1 that knows the words of CUDA that
 * bodies use and looks for what a GPU does not forgive. It compiles a body with clang and runs
 * a block with one fiber for each thread, in an order of its own. opencl.c and programs.c are
 * the API, fibers.c switches and schedules, words.c has the functions that bodies call,
 * tensor.c those of tensor cores, warpgroups.c and products.c those of compute capability 9.0.
 *
 * Where OPTUNE_RACES is set, clang also calls a function here for every access to memory
 * (-fsanitize=thread), and shadow.c knows who read and wrote what: several times as slow.
 *
 * A launch with a report fails. Reports go to the file that OPTUNE_RACES names, without it to
 * stderr. It is for x86-64 alone: a kernel's arguments are passed as its calling convention has
 * them.
 */
#ifndef OPTUNE_TESTS_RACES_H
#define OPTUNE_TESTS_RACES_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/opencl_api.h"

enum {
    RACES_THREADS = 1024, /* at once */
    RACES_CLUSTER = 8,    /* blocks at once */
    RACES_WARP = 32,
    RACES_ARGS = 32,
    RACES_ARG_BYTES = 256,
};

/* One access to a byte. */
typedef struct races_access {
    uint32_t interval; /* of its block: barriers divide time */
    uint32_t turn;     /* words of its warp behind it */
    uint32_t block;
    uint32_t place; /* in the module's code */
    int thread;
} races_access;

/* What is remembered of a byte: readers of the same interval are two, else the last one. */
typedef struct races_byte {
    races_access write, read[2];
} races_byte;

struct cl_mem_tag {
    struct cl_mem_tag *next, *parent;
    char *data;
    size_t size;
    races_byte *bytes; /* of the parent, made when first needed */
};

struct cl_program_tag {
    char *source;
    char *binary;
    size_t size;
    ot_text log;
    int file; /* the loaded binary, in memory */
    void *module;
    uintptr_t base, first, last; /* of its code; of its variables, which are shared memory */
    races_byte *bytes;           /* of these */
};

typedef struct races_arg {
    size_t size; /* 0: not set */
    struct cl_mem_tag *buffer;
    unsigned char value[RACES_ARG_BYTES];
} races_arg;

struct cl_kernel_tag {
    struct cl_program_tag *program;
    void *function;
    char name[64];
    races_arg arg[RACES_ARGS];
};

/* The launch under way. */
typedef struct races_launch {
    struct cl_kernel_tag *kernel;
    size_t block[3], grid[3], at[3]; /* `at`: the first block of those at work */
    int threads, blocks;             /* of a block; at work: those of a cluster */
    bool apart;                      /* those at work are no cluster, but in turns */
    uint32_t number;                 /* of the first block at work, over all launches */
    uint32_t begin;                  /* the first block of the launch */
    uint32_t started;                /* no interval of those at work is before it */
} races_launch;

extern races_launch races_now;

#define RACES_PROTOTYPE(result, name, args) result name args;
OT_OPENCL_FUNCTIONS(RACES_PROTOTYPE)

/* OpenCL's errors that are given. */
enum {
    RACES_NO_BUILD = -11,
    RACES_FAILED = -14,
    RACES_NO_VALUE = -30,
    RACES_NO_BINARY = -42,
    RACES_NO_KERNEL = -46,
    RACES_NO_ARGUMENT = -51,
    RACES_NO_GROUP = -54
};

/* What a question about an object is answered with; `needs` is how long that is. */
cl_int races_give(const void *from, size_t n, size_t size, void *to, size_t *needs);
cl_int races_give_text(const char *s, size_t size, void *to, size_t *needs);
bool races_find_clang(char *path, size_t size);

/* ---- fibers.c ---------------------------------------------------------------------------- */

typedef enum races_state {
    RACES_READY,
    RACES_BARRIER, /* of the block */
    RACES_ALL,     /* of the cluster */
    RACES_WARPS,   /* of the warp */
    RACES_WAITS,   /* asks again */
    RACES_GONE,
} races_state;

extern int races_thread; /* at work, of all blocks at once; -1: none */

/* Runs the blocks at work to their end; false: they never come to one. */
bool races_run(void);
/* The thread at work goes on when its state allows; `place` is where it stands. */
void races_pause(races_state state, const void *place);
bool races_on_stack(const char *p);
bool races_block_gone(int rank);
int races_rank(void);
uint32_t races_interval(void);
uint32_t races_turn(void);
uint64_t races_random(void);

/* ---- shadow.c ---------------------------------------------------------------------------- */

/* `thread` is the other one or a number that tells more; -1: none. */
void races_report(const char *what, const void *place, uint32_t other_place, int thread);
int races_reports(void); /* of this launch */
void races_begin(void);  /* a launch */
/* Whether it is looked who reads and writes what: where OPTUNE_RACES is set. */
bool races_watched(void);
/* The thread at work reads or writes these bytes by a word that stands at `place`. What is read
 * `ahead` may be used by nobody, and then written by nobody. */
void races_reads(const void *p, size_t n, bool ahead, const void *place);
void races_writes(const void *p, size_t n, const void *place);
/* All of these bytes at once, as any thread may at any time: only where they lie is looked at. */
void races_atomic(const void *p, size_t n, bool write, const void *place);

#define RACES_HERE __builtin_return_address(0)

/* ---- warpgroups.c ------------------------------------------------------------------------ */

void races_warpgroups_begin(void); /* blocks */
void races_warpgroups_end(void);
/* Some of the copies under way land; whether any did. */
bool races_land(void);
bool races_copies_left(void);
/* Shared memory that only the words here read and write. */
bool races_in_pool(const char *p);
/* This of a block, and its bytes. */
const unsigned char *races_pool_of(int rank, int *bytes);
/* Whose copy into these bytes is under way; -1: nobody's. */
int races_copying(int rank, uint32_t at, int bytes);

/* ---- products.c -------------------------------------------------------------------------- */

void races_products_begin(void);
bool races_products_left(void);
/* Whose product of these bytes is under way; -1: nobody's. */
int races_multiplying(int rank, uint32_t at, int bytes);

/* The sum of a product: a float, or an integer of s8's. */
typedef union races_sum {
    float f;
    int32_t i;
} races_sum;

/* A row of a product's left side, or a column of its right side, in depth: 8 words of 4 bytes.
 * Types are numbered as words.h does. */
enum { RACES_DEPTH = 8 };
typedef union races_row {
    float f[2 * RACES_DEPTH];
    int32_t i[4 * RACES_DEPTH];
} races_row;

void races_expand(int type, bool left, const uint32_t *word, races_row *to);
/* `s` and what they add to it, in the order of depth. */
races_sum races_dot(int type, races_sum s, const races_row *a, const races_row *b);

/* ---- tensor.c ---------------------------------------------------------------------------- */

void races_tensor_begin(void); /* blocks */

/* ---- words.c ----------------------------------------------------------------------------- */

float races_float_of_half(uint16_t bits);
uint16_t races_half_of_float(float f);
uint32_t races_tf32(uint32_t bits);

#endif
