/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template `mma` of matrix products on GPUs: tensor cores of CUDA from compute capability
 * 8.0 on, in float16, bfloat16, int8 and, where the call permits tf32, float32
 * (kernels/matmul/gpu/impls_mma.kernel.cu). Its knobs, limits and macros. What is counted in
 * bytes is the same for all types: a step of depth is 32 of them. Host code only.
 */
#ifndef OPTUNE_KERNELS_DENSE_MATMUL_GPU_MMA_H
#define OPTUNE_KERNELS_DENSE_MATMUL_GPU_MMA_H

#include "kernels/matmul/gpu/matmul_gpu.h"

typedef struct matmul_gpu_mma {
    int64_t bm, bn, wm, wn, kb, stages, group, splits;
} matmul_gpu_mma;

matmul_gpu_mma matmul_gpu_mma_of(const optune_config *config);

void matmul_gpu_mma_space(optune_space *space);

bool matmul_gpu_mma_takes(const optune_call *call, char *why);

/* For `applies` of a call of known types. */
bool matmul_gpu_mma_applies(const optune_task *task, const matmul_gpu *p, char *why);

/* Whether Relay takes the product for tensor cores: it falls into fragments of 8 x 32, 16 x 16
 * or 32 x 8, 16 deep. */
bool matmul_gpu_mma_divides(const matmul_gpu *p, char *why);

/* ---- limits ------------------------------------------------------------------------------ */

static inline int64_t matmul_gpu_mma_threads(const matmul_gpu_mma *c)
{
    return c->bm / c->wm * (c->bn / c->wn) * 32;
}

static inline int64_t matmul_gpu_mma_shared(const matmul_gpu_mma *c)
{
    return c->stages * (c->bm + c->bn) * c->kb;
}

bool matmul_gpu_mma_fits(const optune_task *task, const matmul_gpu *p, const matmul_gpu_mma *c,
                         char *why);

static inline bool matmul_gpu_mma_valid(const optune_task *task, const matmul_gpu *p,
                                        const optune_config *config, char *why)
{
    const matmul_gpu_mma c = matmul_gpu_mma_of(config);
    return matmul_gpu_mma_fits(task, p, &c, why);
}

/* The cheapest by the estimate above; 128 x 256 in warps of 64 x 64 where that fills the
 * device. */
void matmul_gpu_mma_fallback(const optune_task *task, const matmul_gpu *p,
                             const optune_space *space, optune_config *config);

double matmul_gpu_mma_estimate(const optune_task *task, const matmul_gpu *p,
                               const optune_config *config);

void matmul_gpu_mma_types(const optune_call *call, optune_plan *plan, int m);

void matmul_gpu_mma_plan(const optune_task *task, const matmul_gpu *p,
                         const optune_config *config, optune_plan *plan);

#endif
