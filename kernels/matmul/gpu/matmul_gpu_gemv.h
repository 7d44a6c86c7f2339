/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template `gemv` of matrix products on GPUs (kernels/matmul/gpu/impls_gemv.kernel.cu): its
 * knobs, limits, fallback and macros. Host code only; both operands lie row by row.
 */
#ifndef OPTUNE_KERNELS_DENSE_MATMUL_GPU_GEMV_H
#define OPTUNE_KERNELS_DENSE_MATMUL_GPU_GEMV_H

#include "kernels/matmul/gpu/matmul_gpu.h"

void matmul_gpu_gemv_space(optune_space *space);

bool matmul_gpu_gemv_valid(const optune_task *task, const matmul_gpu *p,
                           const optune_config *config, char *why);

/* All rows in one team, a warp for each column or two; more threads along the depth where there
 * are few columns. */
void matmul_gpu_gemv_fallback(const optune_task *task, const matmul_gpu *p,
                              const optune_space *space, optune_config *config);

double matmul_gpu_gemv_estimate(const optune_task *task, const matmul_gpu *p,
                                const optune_config *config);

void matmul_gpu_gemv_plan(const optune_task *task, const matmul_gpu *p,
                          const optune_config *config, optune_plan *plan);

#endif
