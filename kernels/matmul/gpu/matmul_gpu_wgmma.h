/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template `wgmma` of matrix products on GPUs: whole warpgroups' matrix instructions, fed
 * by the copy engine, on devices of compute capability 9.0
 * (kernels/matmul/gpu/impls_wgmma.kernel.cu): whom it serves, its knobs, limits, tensor maps
 * and macros. Host code only.
 *
 * `copies` says who feeds the ring of stages: a warpgroup of its own, or a thread of the first
 * one. With `persistent` there are as many blocks as multiprocessors, and each goes on to other
 * tiles. The blocks of a `cluster` share what they copy of the second operand.
 * `stores` is the way out: boxes by the copy engine, or pairs of columns by each thread.
 */
#ifndef OPTUNE_KERNELS_DENSE_MATMUL_GPU_WGMMA_H
#define OPTUNE_KERNELS_DENSE_MATMUL_GPU_WGMMA_H

#include "kernels/matmul/gpu/matmul_gpu.h"

void matmul_gpu_wgmma_space(optune_space *space);

/* Compute capability 9.0 alone has these instructions: they are in no later one. */
bool matmul_gpu_wgmma_applies(const optune_task *task, const matmul_gpu *p, char *why);

bool matmul_gpu_wgmma_valid(const optune_task *task, const matmul_gpu *p,
                            const optune_config *config, char *why);

/* 128 x 256 where that fills the device, less for smaller outputs; as many stages as there is
 * room for. */
void matmul_gpu_wgmma_fallback(const optune_task *task, const matmul_gpu *p,
                               const optune_space *space, optune_config *config);

double matmul_gpu_wgmma_estimate(const optune_task *task, const matmul_gpu *p,
                                 const optune_config *config);

/* ---- the plan ---------------------------------------------------------------------------- */

/* A tensor [batches][rows][line]; boxes are of `box` rows and 128 bytes of a line. Only float32
 * is looked into on its way in: it is rounded. */
optune_arg matmul_gpu_wgmma_map(optune_plan *plan, optune_arg tensor, optune_dtype dtype,
                                int64_t batches, int64_t rows, int64_t line, int64_t box);

void matmul_gpu_wgmma_plan(const optune_task *task, const matmul_gpu *p,
                           const optune_config *config, optune_plan *plan);

#endif
