/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What implementations of injective ops share: pieces as loops with as few dims as their
 * strides allow, ordered for a body, and the macros that hand them over. Rows only.
 */
#ifndef OPTUNE_KERNELS_MOVES_H
#define OPTUNE_KERNELS_MOVES_H

#include "kernels/host/pattern.h"

enum {
    MOVES_IN,
    MOVES_OUT,            /* tensors of a piece's loops */
    MOVES_MOST_LOOPS = 6, /* what bodies have */
    MOVES_ROWS = 0,
    MOVES_TILES = 1,
    MOVES_FILL = 2, /* how a body does a piece */
};

typedef struct moves_piece {
    int input, mode;
    double fill;
    int64_t in_offset, out_offset;
    pattern_loops loops; /* innermost last: along the output; for tiles the one before it is
                            along the input */
} moves_piece;

typedef struct moves {
    int n;
    moves_piece piece[OPTUNE_MAX_PIECES];
} moves;

/* Where dims are known at run time, those of the largest sizes. `to` is 50 KB, of which only the
 * pieces that there are get written. */
void moves_of(const optune_call *call, moves *to);
/* One piece of the op in this order and as few loops. */
void moves_settle(optune_piece *piece);

/* Makes it a piece of tiles when it is one. */
bool moves_tile(moves_piece *p, int64_t least);

bool moves_applies(const optune_task *task, char *why);
/* The same of bodies that take dims at run time. */
bool moves_most_apply(const optune_task *task, char *why);

/* What both kinds of pieces have. */
void moves_define_element(optune_plan *plan, int module, const optune_call *call, int pieces,
                          double fill);
/* PIECEn: mode, input, offsets, rank, then the extents and both strides of the loops. */
void moves_define(optune_plan *plan, int module, const optune_call *call, const moves *m);

/* The stage of either body, and adding it. */
optune_stage moves_stage_of(int module, const optune_call *call);
void moves_stage(optune_plan *plan, int module, const optune_call *call);

static inline int64_t moves_lanes(const optune_task *task)
{
    const int64_t bytes = task->device->vector_bytes > 0 ? task->device->vector_bytes : 16;
    return bytes / pattern_bytes(task->call->output[0].dtype);
}

/* Longest row that a piece copies at once, in bytes. */
int64_t moves_longest(const optune_task *task, const moves *m);

static inline bool moves_large(const optune_task *task)
{
    const int64_t cache = task->device->l3 > 0 ? task->device->l3 : 4 << 20;
    const optune_tensor *out = &task->call->output[0];
    double bytes = (double)pattern_bytes(out->dtype);
    for (int d = 0; d < out->rank; d++)
        bytes *= (double)out->dim[d].max;
    return 2 * bytes > (double)cache;
}

/* Knob `task`: elements of a task, for threads to share. */
static inline void moves_space_task(const optune_task *task, optune_space *space)
{
    optune_space_ints(space, "task", task->device->threads > 1 ? 3 : 1,
                      (const int64_t[]){1 << 16, 1 << 13, 1 << 19});
}

#endif
