/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What implementations of elementwise and broadcast ops share: the call as loops over the
 * output with a stride for each operand, and the macros of the expression. Rows only.
 */
#ifndef OPTUNE_KERNELS_BROADCAST_H
#define OPTUNE_KERNELS_BROADCAST_H

#include "kernels/host/lead.h"
#include "kernels/host/pattern.h"

/* Tensors 0.. are the inputs, the last one is the output. Rank is at least 1. */
pattern_loops broadcast_loops(const optune_call *call);

/* A number of elements: a constant, times dims of the output that are known at run time, a bit for
 * each. */
typedef struct broadcast_extent {
    int64_t constant;
    unsigned open;
} broadcast_extent;

/* The same where dims may be known at run time: neighbours that every operand has, or is repeated
 * over, are one loop. */
typedef struct broadcast_open {
    pattern_loops loops; /* extents and strides are the most they can be */
    broadcast_extent extent[OPTUNE_MAX_AXES];
    broadcast_extent stride[PATTERN_TENSORS][OPTUNE_MAX_AXES];
    int inner_from; /* the first dim of the output that the innermost loop goes along */
} broadcast_open;

/* False, with why, where an operand may be broadcast or not. */
bool broadcast_open_of(const optune_call *call, broadcast_open *open, char *why);

/* Adds an argument for each dim of the output that is known at run time. */
void broadcast_open_args(const optune_call *call, optune_stage *stage);

/* Defines `macro` as such a number; the dims are arguments from number `first` on. */
void broadcast_open_define(optune_plan *plan, int m, const char *macro, const optune_call *call,
                           broadcast_extent extent, int first);

bool broadcast_operands_fit(const optune_call *call, char *why);

bool broadcast_applies(const optune_task *task, char *why);

/* The expression and the types of its operands. */
void broadcast_define(optune_plan *plan, int m, const optune_call *call);

#endif
