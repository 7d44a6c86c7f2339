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
    int64_t unroll; /* steps of depth that are straight code; 0: all of bk */
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

/* Whether a thread that multiplies `depth` of a tile loads fragments steps ahead of their use, as
 * TILE_AHEAD of the body says: on CUDA, 4-byte elements, 64 sums and more. */
bool gpu_tile_ahead(const optune_task *task, const gpu_tile *t, int64_t depth, int64_t elem);

/* Registers of such a thread of which `staged` hold its part of the next tile, from below: by
 * what ptxas made of a sample of configs, fewer than these spill on compute capability 8.0 and
 * 9.0. */
int64_t gpu_tile_registers(const optune_task *task, const gpu_tile *t, int64_t depth,
                           int64_t elem, int64_t staged);

/* Whether the tile suits a product of m x n whose elements have `elem` bytes, and whose threads
 * keep so many registers from tile to tile beside what gpu_tile_registers counts. */
bool gpu_tile_valid(const optune_task *task, const gpu_tile *t, int64_t m, int64_t n,
                    int64_t elem, int64_t pad, int64_t kept, char *why);

/* BM BN BK TM TN CM CN STAGES UNROLL_K */
void gpu_tile_define(optune_plan *plan, int module, const gpu_tile *t,
                     const optune_config *config, int64_t elem);

/* ---- untuned ----------------------------------------------------------------------------- */

/* How a body brings tiles into shared memory. */
typedef enum gpu_staging {
    GPU_STAGE_VECTORS, /* both operands as they lie, through registers */
    GPU_STAGE_TURNED,  /* the same, but stored element by element */
    GPU_STAGE_COPIES   /* asynchronous copies, stages - 1 ahead */
} gpu_staging;

/* A product of m x n x k, `batches` of them, whose depth may be split over up to `most_splits`
 * blocks; `elem` bytes an element. */
typedef struct gpu_product {
    int64_t m, n, k, batches, most_splits, elem;
    gpu_staging staging;
    int64_t vector; /* elements of x that are fetched at once; 0: as many as 16 bytes have */
    /* Elements of either operand that are copied at once. Negative: only where a thread
     * multiplies fewer of its rows than of the other's; else, as with 0, it is turned on its
     * way, one by one. */
    int64_t copies[2];
    /* Columns that a thread stores at once where it has as many: a tile that gives a thread as many
     * rows, and fewer columns, is taken the other way round. 0: how many does not matter. */
    int64_t columns;
    int64_t looked; /* times that a fetch of x asks where its element lies */
    int64_t
        bytes; /* that the call reads and writes at least; 0: of both operands and the sums */
} gpu_product;

/* Estimated cycles for bytes on their way through memory, shared by all multiprocessors. */
double gpu_tile_traffic(const optune_task *task, int64_t bytes);

/* Estimated cycles of a launch that follows another one. */
double gpu_tile_launch(void);

/* Estimated cycles of the whole call: launches, waves of blocks, and of each step of depth what
 * bounds it: issue, shared memory, or one warp alone that waits for what it reads. Its constants
 * are an H100's, fitted to what one measured (docs/results/gpu-estimates.md). */
double gpu_tile_cost(const optune_task *task, const gpu_product *p, const gpu_tile *t,
                     int64_t split);

/* The tile, of a few that are right somewhere, that is estimated to be the fastest; `split`
 * receives the parts of the depth. Always valid: 16 x 16 by 2 x 2 serves where nothing else
 * does. */
gpu_tile gpu_tile_best(const optune_task *task, const gpu_product *p, int64_t *split);

#endif
