/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_tile.gpu: blocks of the output in registers, tiles of both operands in shared memory.
 * Serves CUDA and OpenCL. The fallback is sized by the shape, so that an untuned product is never
 * computed by one dot product a block.
 */
#include "kernels/common/gpu_tile.h"
#include "kernels/dense/dense.h"

enum {
    PAD = 4
}; /* elements between rows of a staged tile: fewer bank conflicts, still aligned */

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_tile_knobs(space);
}

/* Elements of depth fetched at once: rows start on a multiple of them. */
static int64_t fetch_of(const dense_shape *s, const gpu_tile *t)
{
    const int64_t most = 16 / dense_elem(s);
    for (int64_t v = most; v > 1; v /= 2)
        if (s->k % v == 0 && t->bk % v == 0)
            return v;
    return 1;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    const gpu_tile t = gpu_tile_of(config);
    return gpu_tile_valid(task, &t, s.m, s.n, dense_elem(&s), PAD, why);
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
    gpu_tile_choose(config, space,
                    &(gpu_tile){.bm = block,
                                .bn = block,
                                .bk = s.f64 ? 8 : 16,
                                .tm = s.f64 && thread == 8 ? 4 : thread,
                                .tn = thread,
                                .stages = block >= 64 ? 2 : 1});
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const gpu_tile t = gpu_tile_of(config);
    const int m = optune_plan_module(plan);
    const bool wide =
        s.m * s.k > INT32_MAX / 2 || s.n * s.k > INT32_MAX / 2 || s.m * s.n > INT32_MAX / 2;
    dense_define(plan, m, &s);
    gpu_tile_define(plan, m, &t, config, dense_elem(&s));
    optune_plan_define(plan, m, "VK", fetch_of(&s, &t));
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
        .shared = gpu_tile_shared(&t, dense_elem(&s), PAD),
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
