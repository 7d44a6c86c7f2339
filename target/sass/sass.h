/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU's machine code tells of a kernel without running it. A listing as `nvdisasm -c -hex`
 * prints it becomes instructions, these become blocks and loops, and the loop that does most of the
 * work becomes figures. Any text may be given: what is no listing has no functions, and what is too
 * large has no figures. Nothing here starts a process or knows what a kernel computes.
 */
#ifndef OPTUNE_TARGET_SASS_H
#define OPTUNE_TARGET_SASS_H

#include "base/base.h"

/* ---- classes.c: what instructions there are ----------------------------------------------- */
typedef enum ot_sass_kind {
    OT_SASS_OTHER,
    OT_SASS_MATH,        /* what a kernel is for, done by a lane: FFMA and its like */
    OT_SASS_TENSOR,      /* the same, done by tensor cores for a warp or more */
    OT_SASS_GLOBAL_LOAD, /* into registers */
    OT_SASS_GLOBAL_STORE,
    OT_SASS_SHARED_LOAD,
    OT_SASS_SHARED_STORE,
    OT_SASS_LOCAL,         /* either way: spilled registers, arrays that have an index */
    OT_SASS_COPY,          /* global to shared memory, nobody waits: cp.async */
    OT_SASS_TENSOR_COPY,   /* the same, by the copy engine */
    OT_SASS_TENSOR_STORE,  /* shared to global memory, by the copy engine */
    OT_SASS_COMMIT,        /* ends a group of copies */
    OT_SASS_WAIT,          /* for all but the last so many of these groups */
    OT_SASS_PRODUCTS_WAIT, /* the same for groups of a warpgroup's products */
    OT_SASS_BARRIER,
    OT_SASS_BRANCH,
    OT_SASS_END,  /* of the thread, or of a function */
    OT_SASS_OPEN, /* of a region where threads part */
    OT_SASS_JOIN, /* goes on where the region's OPEN says */
} ot_sass_kind;

typedef struct ot_sass_word { /* of the listing, which outlives it */
    const char *s;
    int n;
} ot_sass_word;

typedef struct ot_sass_instruction {
    ot_sass_word guard, opcode, operands; /* guard: `@!P0`, or empty */
    int64_t address;
    ot_sass_kind kind;
    bool guarded; /* a predicate may rule it out */
    int stall;    /* cycles until this warp's next may issue, 1 or more */
} ot_sass_instruction;

ot_sass_kind ot_sass_kind_of(ot_sass_word opcode, ot_sass_word operands);
bool ot_sass_has(ot_sass_word word, const char *part);
/* Bytes that a thread moves: 4 unless its opcode says another width. */
int ot_sass_bytes(const ot_sass_instruction *i);

typedef struct ot_sass_range { /* of registers; empty: n 0 */
    int first, n;
} ot_sass_range;
ot_sass_range ot_sass_writes(const ot_sass_instruction *i);
bool ot_sass_reads(const ot_sass_instruction *i, ot_sass_range range);

/* ---- read.c: a listing's functions -------------------------------------------------------- */
typedef struct ot_sass_label {
    ot_sass_word name;
    int at; /* the instruction behind it */
} ot_sass_label;

enum { OT_SASS_MOST = 1 << 18 }; /* instructions of a function; longer ones are `cut` */
typedef struct ot_sass_code {
    ot_sass_word name;
    ot_sass_instruction *instruction;
    ot_sass_label *label; /* by name */
    int n, capacity, n_labels, label_capacity;
    bool cut,
        timed;  /* timed: every instruction's encoding was there, so that stalls are known */
} ot_sass_code; /* zero to start */
/* The next function at *listing, which moves behind it; false: there is none. */
bool ot_sass_read(const char **listing, ot_sass_code *code);
void ot_sass_release(ot_sass_code *code);
/* The instruction that an operand of a branch names: the `index`th of them; -1: there is none, or
 * nobody knows where it leads. */
int ot_sass_target(const ot_sass_code *code, const ot_sass_instruction *i, int index);

/* ---- flow.c: blocks and loops ------------------------------------------------------------- */
enum { OT_SASS_MOST_BLOCKS = 8192, OT_SASS_MOST_LOOPS = 256 };
typedef struct ot_sass_edge {
    int to, next; /* next: of the same block; -1: none */
} ot_sass_edge;
typedef struct ot_sass_block {
    int first, n; /* instructions */
    int out, in;  /* the first edge of each kind; -1: none */
    int rank;     /* in reverse post-order from the entry; -1: nobody comes here */
    int dominator;
} ot_sass_block;
typedef struct ot_sass_loop {
    int header, depth; /* depth: 1 where no loop is around it */
    int *block;        /* in the order in which they run */
    int n_blocks;
    uint64_t *has; /* a bit for each block */
} ot_sass_loop;
typedef struct ot_sass_flow {
    int n_blocks, n_edges, edge_capacity, n_ranked, n_loops;
    ot_sass_block *block;
    ot_sass_edge *edge;
    int *order; /* blocks by rank */
    ot_sass_loop *loop;
} ot_sass_flow;
/* False, and nothing to release: it has more blocks or loops than are looked at. */
bool ot_sass_flow_open(const ot_sass_code *code, ot_sass_flow *flow);
void ot_sass_flow_close(ot_sass_flow *flow);
bool ot_sass_loop_has(const ot_sass_loop *loop, int block);

/* ---- trips.c ------------------------------------------------------------------------------ */
/* How often the loop runs each time that it is come to; 0: its code does not say it. */
int ot_sass_trips(const ot_sass_code *code, const ot_sass_flow *f, const ot_sass_loop *loop);

/* ---- figures.c ---------------------------------------------------------------------------- */
/* X(field, name, sentence): of the hottest loop, but for `stores`, which are the function's. A name
 * with a point is a part of something. */
#define OT_SASS_FIGURES(X)                                                                     \
    X(loop, "loop", "instructions of the hottest loop")                                        \
    X(math, "math", "those of them that the kernel is for; on tensor cores, only these")       \
    X(tensor, "tensor", "those on tensor cores")                                               \
    X(share, "share", "math of all")                                                           \
    X(cycles, "cycles", "issue cycles of one warp alone for each math instruction")            \
    X(conflicts, "conflicts", "of FFMA, those whose three operands are read from one bank")    \
    X(global_least, "global.least", "cycles from a global load to its first use, least")       \
    X(global_median, "global.median", "the same, median")                                      \
    X(shared_least, "shared.least", "cycles from a shared load to its first use, least")       \
    X(shared_median, "shared.median", "the same, median")                                      \
    X(load_16, "loads.16", "global loads of 16 bytes")                                         \
    X(load_8, "loads.8", "of 8")                                                               \
    X(load_4, "loads.4", "of 4")                                                               \
    X(load_less, "loads.less", "of less")                                                      \
    X(copy_16, "copies.16", "asynchronous copies of 16 bytes")                                 \
    X(copy_less, "copies.less", "of less")                                                     \
    X(copy_tensor, "copies.tensor", "by the copy engine")                                      \
    X(shared_16, "shared_loads.16", "shared loads of 16 bytes")                                \
    X(shared_less, "shared_loads.less", "of less")                                             \
    X(store_16, "stores.16", "global stores of 16 bytes, in the whole function")               \
    X(store_8, "stores.8", "of 8")                                                             \
    X(store_4, "stores.4", "of 4")                                                             \
    X(store_less, "stores.less", "of less")                                                    \
    X(store_tensor, "stores.tensor", "by the copy engine")                                     \
    X(local, "local", "instructions on local memory")                                          \
    X(per_barrier, "per_barrier", "tensor instructions for each barrier")                      \
    X(per_commit, "per_commit", "a warpgroup's products for each commit")                      \
    X(copies_in_flight, "copies_in_flight", "groups of copies that a wait leaves going on")    \
    X(products_in_flight, "products_in_flight", "groups of products that a wait leaves")

/* NaN: it has none. */
typedef struct ot_sass_figures {
#define OT_SASS_FIELD(field, name, sentence) double field;
    OT_SASS_FIGURES(OT_SASS_FIELD)
#undef OT_SASS_FIELD
} ot_sass_figures;

void ot_sass_figures_of(const ot_sass_code *code, ot_sass_figures *figures);
/* " share=0.9 cycles=1.25 loads.16=null ...": all of them. */
void ot_sass_figures_print(const ot_sass_figures *figures, ot_text *to);

#endif
