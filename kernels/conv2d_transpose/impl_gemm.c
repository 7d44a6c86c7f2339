/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_transpose_gemm.cpu: weight' x data by register tiles gives what every element of the
 * data contributes to each tap; adding it up where it belongs gives the output. `block_co` is how
 * many output channels go through both steps at a time: the product of fewer stays in a cache.
 */
#include "kernels/conv2d_transpose/conv2d_transpose.h"
#include "kernels/dense/matmul.h"

static const int64_t blocks[] = {1, 2, 4, 8, 16, 32};

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!transpose_shape_of(task->call, &s))
        return optune_refuse(why, "needs constant shapes");
    return tensor_is_float(&task->call->output[0]) ||
           optune_refuse(why, "needs float32 or float64");
}

static int64_t vectors(const optune_task *task, const conv2d_shape *s)
{
    return matmul_ceil(s->h * s->w, matmul_lanes(task, s->f64));
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    transpose_shape_of(task->call, &s);
    matmul_tile_knobs(space, s.co_g * s.kh * s.kw, vectors(task, &s));
    matmul_up_to(space, "block_co", blocks, 6, s.co_g);
}

/* Elements of one thread: the product of a block, and one packed panel. */
static int64_t product(const conv2d_shape *s, int64_t block)
{
    return (block * s->kh * s->kw * s->h * s->w + 15) / 16 * 16;
}

static int64_t panel(const optune_task *task, const conv2d_shape *s, int64_t nv)
{
    return nv * matmul_lanes(task, s->f64) * s->ci_g;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    transpose_shape_of(task->call, &s);
    const int64_t block = optune_config_int(config, "block_co");
    const int64_t mr = optune_config_int(config, "tile_m");
    const int64_t nv = optune_config_int(config, "tile_n");
    if (mr > block * s.kh * s.kw)
        return optune_refuse(why, "%ld rows exceed a block's", (long)mr);
    return matmul_tile_fits(task, mr, nv, why) &&
           matmul_scratch_fits(matmul_threads(task) *
                                   (product(&s, block) + panel(task, &s, nv)) * conv2d_elem(&s),
                               why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    transpose_shape_of(task->call, &s);
    const int64_t row = s.kh * s.kw * s.h * s.w * conv2d_elem(&s);
    int64_t block = matmul_l2(task) / 2 / row, mr, nv;
    block = block < 1 ? 1 : block > s.co_g ? s.co_g : block;
    optune_config_choose_int(config, space, "block_co", block);
    block = optune_config_int(config, "block_co");
    matmul_best_tile(task, block * s.kh * s.kw, vectors(task, &s), &mr, &nv);
    optune_config_choose_int(config, space, "tile_m", mr);
    optune_config_choose_int(config, space, "tile_n", nv);
    optune_config_choose_int(config, space, "unroll_k", 2);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    transpose_shape_of(task->call, &s);
    const int64_t block = optune_config_int(config, "block_co");
    const int m = optune_plan_module(plan);
    conv2d_define(plan, m, &s);
    optune_plan_define(plan, m, "BLOCK", block);
    optune_plan_define(plan, m, "PRODUCT", product(&s, block));
    optune_plan_define(plan, m, "MEMORY",
                       product(&s, block) +
                           panel(task, &s, optune_config_int(config, "tile_n")));
    matmul_define_tile(plan, m, config);
    const int memory = optune_plan_scratch(
        plan, "products",
        matmul_threads(task) *
            (product(&s, block) + panel(task, &s, optune_config_int(config, "tile_n"))) *
            conv2d_elem(&s),
        false);
    optune_plan_stage(
        plan, &(optune_stage){.phase = OPTUNE_TIMED,
                              .module = m,
                              .function = "conv2d_transpose",
                              .n_args = 4,
                              .arg = {optune_input_arg(TRANSPOSE_DATA),
                                      optune_input_arg(TRANSPOSE_WEIGHT), optune_output_arg(0),
                                      optune_scratch_arg(memory)}});
}

OPTUNE_IMPL(conv2d_transpose, gemm) = {
    .op = "conv2d_transpose",
    .name = "conv2d_transpose_gemm.cpu",
    .summary = "a product for every tap by register tiles, added up into the output",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
