/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the GPU rows of dense_nbits share: which calls their bodies take, macros and the stage.
 * The weight is read as it is, in words of 32 bits. Host code only; bodies: nbits_gpu.kernel.h.
 */
#ifndef OPTUNE_KERNELS_NBITS_GPU_H
#define OPTUNE_KERNELS_NBITS_GPU_H

#include "kernels/host/gpu_cost.h"
#include "kernels/host/gpu_limits.h"
#include "kernels/host/pattern_gpu.h"
#include "kernels/nbits/nbits.h"

/* Rows and groups are of whole words, so that a word has one scale. */
bool nbits_gpu_applies(const optune_task *task, char *why);

/* Words of a row. */
static inline int64_t nbits_gpu_words(const nbits_shape *s)
{
    return s->row_bytes / 4;
}

/* Elements of data that are loaded at once. */
static inline int64_t nbits_gpu_vector(const optune_call *call)
{
    return call->output[0].dtype.bits == 16 && optune_call_int(call, "bits") == 4 ? 8 : 4;
}

/* A module with the macros that all bodies have. */
int nbits_gpu_module(const optune_task *task, optune_plan *plan, const nbits_shape *s);

/* Those of them that say how elements are stored and read. */
void nbits_gpu_types(const optune_task *task, optune_plan *plan, int m, const nbits_shape *s);

/* Adds the stage, whose grid, block and shared memory are set, and offers to fuse in it. */
void nbits_gpu_stage(const optune_task *task, optune_plan *plan, const nbits_shape *s,
                     optune_stage stage);

/* The same where `splits` blocks share the depth: beyond one they leave their sums to a second
 * stage of the module, `finish` (kernels/matmul/gpu/mma_finish_gpu.kernel.h). */
void nbits_gpu_split(const optune_task *task, optune_plan *plan, const nbits_shape *s,
                     int64_t splits, optune_stage stage);

/* What that stage costs. */
double nbits_gpu_finish_cost(const optune_task *task, const nbits_shape *s, int64_t splits);

/* Bytes of rows of `bytes` that may be copied at once. */
static inline int64_t nbits_gpu_copy(int64_t bytes)
{
    int64_t copy = 16;
    while (copy > 4 && bytes % copy)
        copy /= 2;
    return copy;
}

#endif
