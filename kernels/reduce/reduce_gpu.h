/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU implementations of reductions share: one reduction seen as blocks, its expressions as
 * macros, and the stages, the second of which joins the parts that the first one left. Rows only.
 */
#ifndef OPTUNE_KERNELS_REDUCE_GPU_H
#define OPTUNE_KERNELS_REDUCE_GPU_H

#include "kernels/host/staged_rows.h"
#include "kernels/reduce/reduce.h"

static inline int64_t reduce_bytes(const optune_call *call)
{
    return pattern_bytes(call->input[0].type.dtype);
}

/* What threads hold of a value. */
static inline int64_t reduce_held(const optune_call *call)
{
    return gpu_is_half(call->input[0].type.dtype) ? 4 : reduce_bytes(call);
}

/* Largest power of two up to `most` that divides the row and all strides but the innermost. */
int64_t reduce_vector(const reduce_loops *r, int64_t row, int64_t most);

void reduce_gpu_define(optune_plan *plan, int m, const optune_call *call, const reduce_loops *r,
                       int64_t parts);

/* `first` has its grid and block and neither function nor arguments. */
void reduce_gpu_stages(const optune_task *task, optune_plan *plan, int m, const reduce_loops *r,
                       int64_t parts, optune_stage first);

/* As gpu_cost counts; `first` lacks its bytes, which are those of the input in runs of `run`. */
double reduce_gpu_cost(const optune_task *task, const reduce_loops *r, int64_t parts,
                       gpu_work first, int64_t run);

/* Parts that give every unit of the device a few blocks, of at least `least` values each. */
int64_t reduce_parts(const optune_task *task, const reduce_loops *r, int64_t blocks,
                     int64_t least);

/* Of a reduction of the innermost dim alone: its rows. */
staged_rows reduce_staged(const optune_task *task);

/* What is true of every config. */
bool reduce_parts_fit(const reduce_loops *r, int64_t parts, int64_t least, char *why);

#endif
