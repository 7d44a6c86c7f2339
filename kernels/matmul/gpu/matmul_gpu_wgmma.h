/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template `wgmma` of matrix products on GPUs: whole warpgroups' matrix instructions, fed
 * by the copy engine, on devices of compute capability 9.0
 * (kernels/matmul/gpu/wgmma_tile_gpu.kernel.h): whom it serves, its knobs, limits, tensor maps
 * and macros, also for rows that bring operands of their own. Host code only.
 *
 * `copies` says who feeds the ring of stages: a warpgroup of its own, or a thread of the first
 * one. With `persistent` there are as many blocks as multiprocessors, and each goes on to other
 * tiles. The blocks of a `cluster` share what they copy of the second operand.
 * `stores` is the way out: boxes by the copy engine, or pairs of columns by each thread.
 */
#ifndef OPTUNE_KERNELS_DENSE_MATMUL_GPU_WGMMA_H
#define OPTUNE_KERNELS_DENSE_MATMUL_GPU_WGMMA_H

#include "kernels/matmul/gpu/matmul_gpu.h"

enum { MATMUL_GPU_WGMMA_ROW = 128 }; /* bytes of depth in a row of shared memory */

typedef struct matmul_gpu_wgmma {
    int64_t bm, bn, kb, stages, consumers, group, cluster;
    bool producer, persistent, boxes;
} matmul_gpu_wgmma;

matmul_gpu_wgmma matmul_gpu_wgmma_of(const optune_config *config);

void matmul_gpu_wgmma_space(optune_space *space);

/* The same of bodies that make bytes of sums (to_bytes): these leave in one way. */
void matmul_gpu_wgmma_space_of_bytes(optune_space *space);

bool matmul_gpu_wgmma_applies(const optune_task *task, const matmul_gpu *p, char *why);

bool matmul_gpu_wgmma_valid(const optune_task *task, const matmul_gpu *p,
                            const optune_config *config, char *why);

/* 128 x 256 where that fills the device, less for smaller outputs; as many stages as there is
 * room for. */
void matmul_gpu_wgmma_fallback(const optune_task *task, const matmul_gpu *p,
                               const optune_space *space, optune_config *config);

/* That, or the tile that the estimate prefers notably to it. */
void matmul_gpu_wgmma_best(const optune_task *task, const matmul_gpu *p,
                           const optune_space *space, optune_config *config);

/* The least estimate among tiles of at most so many sums a thread. */
void matmul_gpu_wgmma_least(const optune_task *task, const matmul_gpu *p, int64_t sums,
                            const optune_space *space, optune_config *config);

double matmul_gpu_wgmma_estimate(const optune_task *task, const matmul_gpu *p,
                                 const optune_config *config);

/* ---- the plan ---------------------------------------------------------------------------- */

/* A tensor [batches][rows][line]; boxes are of `box` rows and 128 bytes of a line. Only float32
 * is looked into on its way in: it is rounded. */
optune_arg matmul_gpu_wgmma_map(optune_plan *plan, optune_arg tensor, optune_dtype dtype,
                                int64_t batches, int64_t rows, int64_t line, int64_t box);

/* An operand [rows][parts][depth]; boxes are of `box` rows and 128 bytes of one part. */
optune_arg matmul_gpu_wgmma_panels(optune_plan *plan, optune_arg tensor, optune_dtype dtype,
                                   int64_t depth, int64_t parts, int64_t rows, int64_t box);

/* The stage `product` of such a body, whose macros it adds to the module: with no argument yet, its
 * first three are the maps of x (boxes of block_m rows) and y (of block_n / cluster) and the
 * output, with `boxes` its map of 16 rows. */
optune_stage matmul_gpu_wgmma_stage(const optune_task *task, optune_plan *plan, int module,
                                    const matmul_gpu *p, const optune_config *config);

void matmul_gpu_wgmma_plan(const optune_task *task, const matmul_gpu *p,
                           const optune_config *config, optune_plan *plan);

#endif
