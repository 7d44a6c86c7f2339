/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows' side of the register tile (kernels/matmul/gpu/tile_gpu.kernel.h): its knobs, its
 * limits by arithmetic and its macros, for every operator that is a product in the end. Host
 * code only.
 *
 * A block computes bm x bn of a product, a thread tm x tn of that; `stages` tiles of bk of
 * depth lie in shared memory.
 */
#ifndef OPTUNE_KERNELS_COMMON_PRODUCT_TILE_H
#define OPTUNE_KERNELS_COMMON_PRODUCT_TILE_H

#include "kernels/host/gpu_limits.h"

typedef struct gpu_tile {
    int64_t bm, bn, bk, tm, tn, stages;
} gpu_tile;

gpu_tile gpu_tile_of(const optune_config *config);

void gpu_tile_knobs(optune_space *space);

void gpu_tile_choose(optune_config *config, const optune_space *space, const gpu_tile *t);

static inline int64_t gpu_tile_threads(const gpu_tile *t)
{
    return (t->bm / t->tm) * (t->bn / t->tn);
}

/* Elements that a thread reads from shared memory at once. */
static inline int64_t gpu_tile_chunk(int64_t per_thread, int64_t elem)
{
    return per_thread < 16 / elem ? per_thread : 16 / elem;
}

/* `pad` elements lie between the rows of a staged tile. */
static inline int64_t gpu_tile_shared(const gpu_tile *t, int64_t elem, int64_t pad)
{
    return t->stages * t->bk * (t->bm + t->bn + 2 * pad) * elem;
}

/* Multiply-adds of straight code that compilers take: PoCL's breaks down at twice as many. */
static inline int64_t gpu_tile_straight(const optune_task *task)
{
    return task->device->cc_major == 0 ? 256 : 2048;
}

/* Whether `unroll` steps of depth are not too much of it. */
bool gpu_tile_unrolls(const optune_task *task, const gpu_tile *t, int64_t unroll, char *why);

/* The unrolling that makes enough straight code to hide the loop in. */
static inline void gpu_tile_choose_unroll(const optune_task *task, optune_config *config,
                                          const optune_space *space, const gpu_tile *t)
{
    const int64_t enough = task->device->cc_major == 0 ? gpu_tile_straight(task) : 512;
    optune_config_choose_int(config, space, "unroll_k", enough / (t->tm * t->tn));
}

/* Whether the tile suits a product of m x n whose elements have `elem` bytes. */
bool gpu_tile_valid(const optune_task *task, const gpu_tile *t, int64_t m, int64_t n,
                    int64_t elem, int64_t pad, char *why);

/* BM BN BK TM TN CM CN STAGES UNROLL_K */
void gpu_tile_define(optune_plan *plan, int module, const gpu_tile *t,
                     const optune_config *config, int64_t elem);

/* ---- untuned ----------------------------------------------------------------------------- */

/* A product of m x n x k, `batches` of them, whose depth may be split over up to `most_splits`
 * blocks; `elem` bytes an element. */
typedef struct gpu_product {
    int64_t m, n, k, batches, most_splits, elem;
} gpu_product;

/* Estimated cycles for bytes on their way through memory, shared by all multiprocessors. */
static inline double gpu_tile_traffic(const optune_task *task, int64_t bytes)
{
    const int64_t units = task->device->cores > 0 ? task->device->cores : 16;
    return (double)bytes / (double)(units * 16);
}

/* Estimated cycles of a multiprocessor: it multiplies at a rate that reading shared memory
 * lowers, issues some instructions for every element staged, waits for memory once a tile of
 * depth where its blocks do not fill that time, and parts of a sum cost another launch and
 * their way through memory. */
double gpu_tile_cost(const optune_task *task, const gpu_product *p, const gpu_tile *t,
                     int64_t split);

/* The tile, of a few that are right somewhere, that is estimated to be the fastest; `split`
 * receives the parts of the depth. Always valid: 16 x 16 by 2 x 2 serves where nothing else
 * does. */
gpu_tile gpu_tile_best(const optune_task *task, const gpu_product *p, int64_t *split);

#endif
