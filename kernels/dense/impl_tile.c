/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_tile.gpu: blocks of the output in registers, tiles of both operands in shared memory.
 * Serves CUDA and OpenCL. The fallback is sized by the shape, so that an untuned product is never
 * computed by one dot product a block.
 */
#include "kernels/common/gpu_limits.h"
#include "kernels/dense/dense.h"

enum {
    PAD = 4
}; /* elements between rows of a staged tile: fewer bank conflicts, still aligned */

typedef struct tile {
    int64_t bm, bn, bk, tm, tn, stages;
} tile;

static tile tile_of(const optune_config *config)
{
    return (tile){
        .bm = optune_config_int(config, "block_m"),
        .bn = optune_config_int(config, "block_n"),
        .bk = optune_config_int(config, "block_k"),
        .tm = optune_config_int(config, "thread_m"),
        .tn = optune_config_int(config, "thread_n"),
        .stages = optune_config_int(config, "stages"),
    };
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    static const int64_t blocks[] = {16, 32, 64, 128, 256}, threads[] = {1, 2, 4, 8, 16};
    optune_space_ints(space, "block_m", 5, blocks);
    optune_space_ints(space, "block_n", 5, blocks);
    optune_space_ints(space, "block_k", 3, (const int64_t[]){8, 16, 32});
    optune_space_ints(space, "thread_m", 5, threads);
    optune_space_ints(space, "thread_n", 5, threads);
    optune_space_ints(space, "stages", 2, (const int64_t[]){1, 2});
    optune_space_ints(space, "unroll_k", 3, (const int64_t[]){1, 4, 32});
}

/* Elements of depth fetched at once: rows start on a multiple of them. */
static int64_t fetch_of(const dense_shape *s, const tile *t)
{
    const int64_t most = 16 / dense_elem(s);
    for (int64_t v = most; v > 1; v /= 2)
        if (s->k % v == 0 && t->bk % v == 0)
            return v;
    return 1;
}

static int64_t chunk_of(const dense_shape *s, int64_t per_thread)
{
    return matmul_min(per_thread, 16 / dense_elem(s));
}

static int64_t shared_of(const dense_shape *s, const tile *t)
{
    return t->stages * t->bk * (t->bm + t->bn + 2 * PAD) * dense_elem(s);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    const tile t = tile_of(config);
    if (t.tm > t.bm || t.tn > t.bn)
        return optune_refuse(why, "a thread computes more than its block");
    const int64_t block[3] = {t.bn / t.tn, t.bm / t.tm, 1}, threads = block[0] * block[1];
    const int64_t least = matmul_min(32, (int64_t)task->device->warp);
    if (threads < least)
        return optune_refuse(why, "%" PRId64 " threads are less than a warp", threads);
    if ((t.bm > 16 && t.bm / 2 >= s.m) || (t.bn > 16 && t.bn / 2 >= s.n))
        return optune_refuse(why, "half of the block lies outside the output");
    if ((t.bm + t.bn) * t.bk > 64 * threads)
        return optune_refuse(why, "a thread stages more than 64 elements");
    const int64_t words = dense_elem(&s) / 4;
    const int64_t staged = matmul_ceil((t.bm + t.bn) * t.bk, threads);
    return gpu_fits(task, block, shared_of(&s, &t),
                    words * (t.tm * t.tn + t.tm + t.tn + staged) + 16, why);
}

/* 128 x 128 by 8 x 8 where that fills the device; less for smaller outputs. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t units = task->device->cores > 0 ? task->device->cores : 1;
    int64_t block = 128;
    while (block > 16 && (matmul_ceil(s.m, block) * matmul_ceil(s.n, block) < units ||
                          block / 2 >= s.m || block / 2 >= s.n))
        block /= 2;
    const int64_t thread = block == 128 ? 8 : block == 64 ? 4 : 2;
    optune_config_choose_int(config, space, "block_m", block);
    optune_config_choose_int(config, space, "block_n", block);
    optune_config_choose_int(config, space, "block_k", s.f64 ? 8 : 16);
    optune_config_choose_int(config, space, "thread_m", s.f64 && thread == 8 ? 4 : thread);
    optune_config_choose_int(config, space, "thread_n", thread);
    optune_config_choose_int(config, space, "stages", block >= 64 ? 2 : 1);
    optune_config_choose_int(config, space, "unroll_k", 4);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const tile t = tile_of(config);
    const int m = optune_plan_module(plan);
    const bool wide =
        s.m * s.k > INT32_MAX / 2 || s.n * s.k > INT32_MAX / 2 || s.m * s.n > INT32_MAX / 2;
    dense_define(plan, m, &s);
    optune_plan_define(plan, m, "BM", t.bm);
    optune_plan_define(plan, m, "BN", t.bn);
    optune_plan_define(plan, m, "BK", t.bk);
    optune_plan_define(plan, m, "TM", t.tm);
    optune_plan_define(plan, m, "TN", t.tn);
    optune_plan_define(plan, m, "STAGES", t.stages);
    optune_plan_define(plan, m, "UNROLL_K", optune_config_int(config, "unroll_k"));
    optune_plan_define(plan, m, "VK", fetch_of(&s, &t));
    optune_plan_define(plan, m, "CM", chunk_of(&s, t.tm));
    optune_plan_define(plan, m, "CN", chunk_of(&s, t.tn));
    optune_plan_define(plan, m, "PAD", PAD);
    optune_plan_define_text(plan, m, "INDEX", wide ? "i64" : "int");
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .module = m,
        .function = "dense",
        .n_args = 2,
        .arg = {optune_input_arg(DENSE_DATA), optune_input_arg(DENSE_WEIGHT)},
        .grid = {matmul_ceil(s.n, t.bn), matmul_ceil(s.m, t.bm), 1},
        .block = {t.bn / t.tn, t.bm / t.tm, 1},
        .shared = shared_of(&s, &t),
    };
    dense_finish(&stage, &s);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(dense, tile) = {
    .op = "dense",
    .name = "dense_tile.gpu",
    .summary = "tiles in shared memory, a block of the output in registers",
    .applies = dense_applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
