/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The templates `tile` and `skinny` of matrix products on GPUs, which share a body
 * (kernels/matmul/gpu/impls_tile.kernel.cu): their knobs, limits and macros. Their fallbacks
 * are chosen by an estimate of the time, so that an untuned product fills the device whatever
 * its shape. Host code only.
 */
#ifndef OPTUNE_KERNELS_DENSE_MATMUL_GPU_TILE_H
#define OPTUNE_KERNELS_DENSE_MATMUL_GPU_TILE_H

#include "kernels/matmul/gpu/matmul_gpu.h"

/* A config of either template. */
typedef struct matmul_gpu_tile {
    bool skinny;
    gpu_tile t;
    int64_t lanes, slices, splits;
    int64_t resident; /* blocks that a multiprocessor holds at least */
} matmul_gpu_tile;

matmul_gpu_tile matmul_gpu_tile_of(const optune_config *config, bool skinny);

bool matmul_gpu_tile_fits(const optune_task *task, const matmul_gpu *p,
                          const matmul_gpu_tile *c, char *why);

void matmul_gpu_tiles(const optune_task *task, const matmul_gpu *p, const optune_config *config,
                      const matmul_gpu_tile *c, optune_plan *plan);

/* ---- tile -------------------------------------------------------------------------------- */

void matmul_gpu_tile_space(optune_space *space);

/* The tile that is estimated to be the fastest (gpu_tile_best): 128 x 128 by 8 x 16 where it fills
 * the device, less and with the depth shared for few outputs. */
void matmul_gpu_tile_fallback(const optune_task *task, const matmul_gpu *p,
                              const optune_space *space, optune_config *config);

/* Cycles by the same estimate; NAN where the device is no GPU. */
double matmul_gpu_tile_estimate(const optune_task *task, const matmul_gpu *p,
                                const optune_config *config);

/* ---- skinny ------------------------------------------------------------------------------ */

void matmul_gpu_skinny_space(optune_space *space);

/* All rows in one block of at least 128 threads, which share the depth of a tile where the rows
 * are few; blocks share the depth until there are two for each multiprocessor. */
void matmul_gpu_skinny_fallback(const optune_task *task, const matmul_gpu *p,
                                const optune_space *space, optune_config *config);

double matmul_gpu_skinny_estimate(const optune_task *task, const matmul_gpu *p,
                                  const optune_config *config);

/* ---- what the rows of both ask ----------------------------------------------------------- */

static inline bool matmul_gpu_tile_valid(const optune_task *task, const matmul_gpu *p,
                                         const optune_config *config, char *why)
{
    const matmul_gpu_tile c = matmul_gpu_tile_of(config, false);
    return matmul_gpu_tile_fits(task, p, &c, why);
}

static inline void matmul_gpu_tile_plan(const optune_task *task, const matmul_gpu *p,
                                        const optune_config *config, optune_plan *plan)
{
    const matmul_gpu_tile c = matmul_gpu_tile_of(config, false);
    matmul_gpu_tiles(task, p, config, &c, plan);
}

static inline bool matmul_gpu_skinny_valid(const optune_task *task, const matmul_gpu *p,
                                           const optune_config *config, char *why)
{
    const matmul_gpu_tile c = matmul_gpu_tile_of(config, true);
    return matmul_gpu_tile_fits(task, p, &c, why);
}

static inline void matmul_gpu_skinny_plan(const optune_task *task, const matmul_gpu *p,
                                          const optune_config *config, optune_plan *plan)
{
    const matmul_gpu_tile c = matmul_gpu_tile_of(config, true);
    matmul_gpu_tiles(task, p, config, &c, plan);
}

#endif
