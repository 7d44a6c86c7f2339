/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows' side of the register tile (kernels/common/tile_gpu.h): its knobs, its limits by
 * arithmetic and its macros, for every operator that is a product in the end. Host code only.
 *
 * A block computes bm x bn of a product, a thread tm x tn of that; `stages` tiles of bk of depth
 * lie in shared memory.
 */
#ifndef OPTUNE_KERNELS_COMMON_GPU_TILE_H
#define OPTUNE_KERNELS_COMMON_GPU_TILE_H

#include "kernels/common/gpu_limits.h"

typedef struct gpu_tile {
    int64_t bm, bn, bk, tm, tn, stages;
} gpu_tile;

static inline gpu_tile gpu_tile_of(const optune_config *config)
{
    return (gpu_tile){
        .bm = optune_config_int(config, "block_m"),
        .bn = optune_config_int(config, "block_n"),
        .bk = optune_config_int(config, "block_k"),
        .tm = optune_config_int(config, "thread_m"),
        .tn = optune_config_int(config, "thread_n"),
        .stages = optune_config_int(config, "stages"),
    };
}

static inline void gpu_tile_knobs(optune_space *space)
{
    static const int64_t blocks[] = {16, 32, 64, 128, 256}, threads[] = {1, 2, 4, 8, 16};
    optune_space_ints(space, "block_m", 5, blocks);
    optune_space_ints(space, "block_n", 5, blocks);
    optune_space_ints(space, "block_k", 3, (const int64_t[]){8, 16, 32});
    optune_space_ints(space, "thread_m", 5, threads);
    optune_space_ints(space, "thread_n", 5, threads);
    optune_space_ints(space, "stages", 2, (const int64_t[]){1, 2});
    optune_space_ints(space, "unroll_k", 3, (const int64_t[]){1, 4, 32});
}

static inline void gpu_tile_choose(optune_config *config, const optune_space *space,
                                   const gpu_tile *t)
{
    optune_config_choose_int(config, space, "block_m", t->bm);
    optune_config_choose_int(config, space, "block_n", t->bn);
    optune_config_choose_int(config, space, "block_k", t->bk);
    optune_config_choose_int(config, space, "thread_m", t->tm);
    optune_config_choose_int(config, space, "thread_n", t->tn);
    optune_config_choose_int(config, space, "stages", t->stages);
    optune_config_choose_int(config, space, "unroll_k", 4);
}

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

/* Whether the tile suits a product of m x n whose elements have `elem` bytes. */
static inline bool gpu_tile_valid(const optune_task *task, const gpu_tile *t, int64_t m,
                                  int64_t n, int64_t elem, int64_t pad, char *why)
{
    if (t->tm > t->bm || t->tn > t->bn)
        return optune_refuse(why, "a thread computes more than its block");
    const int64_t block[3] = {t->bn / t->tn, t->bm / t->tm, 1}, threads = block[0] * block[1];
    const int64_t least = task->device->warp < 32 ? task->device->warp : 32;
    if (threads < least)
        return optune_refuse(why, "%" PRId64 " threads are less than a warp", threads);
    if ((t->bm > 16 && t->bm / 2 >= m) || (t->bn > 16 && t->bn / 2 >= n))
        return optune_refuse(why, "half of the block lies outside the output");
    if ((t->bm + t->bn) * t->bk > 64 * threads)
        return optune_refuse(why, "a thread stages more than 64 elements");
    const int64_t staged = ((t->bm + t->bn) * t->bk + threads - 1) / threads;
    return gpu_fits(task, block, gpu_tile_shared(t, elem, pad),
                    elem / 4 * (t->tm * t->tn + t->tm + t->tn + staged) + 16, why);
}

/* BM BN BK TM TN CM CN STAGES UNROLL_K */
static inline void gpu_tile_define(optune_plan *plan, int module, const gpu_tile *t,
                                   const optune_config *config, int64_t elem)
{
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"BM", t->bm},
        {"BN", t->bn},
        {"BK", t->bk},
        {"TM", t->tm},
        {"TN", t->tn},
        {"CM", gpu_tile_chunk(t->tm, elem)},
        {"CN", gpu_tile_chunk(t->tn, elem)},
        {"STAGES", t->stages},
        {"UNROLL_K", optune_config_int(config, "unroll_k")},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, module, table[i].macro, table[i].value);
}

#endif
