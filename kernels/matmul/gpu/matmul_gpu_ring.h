/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The templates `ring` and `skinny_ring` of matrix products on GPUs: float32 tiles by asynchronous
 * copies, from compute capability 8.0 on (kernels/matmul/gpu/impls_ring.kernel.cu). Host code only.
 */
#ifndef OPTUNE_KERNELS_DENSE_MATMUL_GPU_RING_H
#define OPTUNE_KERNELS_DENSE_MATMUL_GPU_RING_H

#include "kernels/matmul/gpu/matmul_gpu.h"

/* For `applies` of a known or bounded call that tiles compute. */
bool matmul_gpu_ring_applies(const optune_task *task, const matmul_gpu *p, char *why);

/* For `condition`: which of both is to be taken untuned, `ring` or `tile`. Where a core issues a
 * multiply-add for each lane in every cycle (measured on compute capability 9.0), the ring's waits
 * are what is left to see, and `tile` is 3 to 12 % faster (docs/results/gpu-estimates.md). */
bool matmul_gpu_ring_first(const optune_task *task, char *why);
bool matmul_gpu_ring_second(const optune_task *task, char *why);

void matmul_gpu_ring_space(optune_space *space);

bool matmul_gpu_ring_valid(const optune_task *task, const matmul_gpu *p,
                           const optune_config *config, char *why);

/* The tile that is estimated to be the fastest (gpu_tile_best) in a ring of four; 64 x 128 in
 * place of 128 x 128. */
void matmul_gpu_ring_fallback(const optune_task *task, const matmul_gpu *p,
                              const optune_space *space, optune_config *config);

double matmul_gpu_ring_estimate(const optune_task *task, const matmul_gpu *p,
                                const optune_config *config);

void matmul_gpu_ring_plan(const optune_task *task, const matmul_gpu *p,
                          const optune_config *config, optune_plan *plan);

/* ---- skinny_ring: few rows, whose blocks share the depth of a tile among their threads ----- */

void matmul_gpu_skinny_ring_space(optune_space *space);

bool matmul_gpu_skinny_ring_valid(const optune_task *task, const matmul_gpu *p,
                                  const optune_config *config, char *why);

/* All rows, up to 32, in one block; columns, slices and splits that are estimated to be the
 * fastest. */
void matmul_gpu_skinny_ring_fallback(const optune_task *task, const matmul_gpu *p,
                                     const optune_space *space, optune_config *config);

double matmul_gpu_skinny_ring_estimate(const optune_task *task, const matmul_gpu *p,
                                       const optune_config *config);

void matmul_gpu_skinny_ring_plan(const optune_task *task, const matmul_gpu *p,
                                 const optune_config *config, optune_plan *plan);

#endif
