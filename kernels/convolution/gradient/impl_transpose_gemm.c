/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_transpose_gemm.cpu: weight' x data by register tiles gives what every element of the
 * data contributes to each tap; adding it up where it belongs gives the output. `block_co` is how
 * many output channels go through both steps at a time: the product of fewer stays in a cache.
 */
#include "kernels/convolution/gradient/conv2d_transpose.h"
#include "kernels/convolution/gradient/gradient_gemm.h"

static const int64_t blocks[] = {1, 2, 4, 8, 16, 32};

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    return gradient_gemm_applies(task, transpose_shape_of(task->call, &s), why);
}

static int64_t vectors(const optune_task *task, const conv2d_shape *s)
{
    return host_ceil(s->h * s->w, matmul_lanes(task, s->f64));
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    transpose_shape_of(task->call, &s);
    matmul_tile_knobs(space, s.co_g * s.kh * s.kw, vectors(task, &s));
    matmul_up_to(space, "block_co", blocks, 6, s.co_g);
}

static int64_t product(const conv2d_shape *s, int64_t block)
{
    return (block * s->kh * s->kw * s->h * s->w + 15) / 16 * 16;
}

/* Elements of one thread: the product of a block, and one packed panel. */
static int64_t memory(const optune_task *task, const conv2d_shape *s,
                      const optune_config *config)
{
    const int64_t nr = optune_config_int(config, "tile_n") * matmul_lanes(task, s->f64);
    return product(s, optune_config_int(config, "block_co")) + nr * s->ci_g;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    transpose_shape_of(task->call, &s);
    const int64_t mr = optune_config_int(config, "tile_m");
    if (mr > optune_config_int(config, "block_co") * s.kh * s.kw)
        return optune_refuse(why, "%ld rows exceed a block's", (long)mr);
    const int64_t nv = optune_config_int(config, "tile_n");
    if (!matmul_tile_fits(task, mr, nv, why))
        return false;
    /* Something must compute what is that large: the smallest block always may. */
    return (optune_config_int(config, "block_co") == 1 && nv == 1) ||
           matmul_scratch_fits(gradient_gemm_bytes(task, &s, memory(task, &s, config)), why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    transpose_shape_of(task->call, &s);
    const int64_t row = s.kh * s.kw * s.h * s.w * conv2d_elem(&s);
    int64_t block = matmul_l2(task) / 2 / row;
    block = block < 1 ? 1 : block > s.co_g ? s.co_g : block;
    optune_config_choose_int(config, space, "block_co", block);
    block = optune_config_int(config, "block_co");
    matmul_choose_tile(task, space, config, block * s.kh * s.kw, vectors(task, &s));
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    transpose_shape_of(task->call, &s);
    const int64_t block = optune_config_int(config, "block_co");
    const int m = gradient_gemm_plan(task, config, plan, &s, "conv2d_transpose", "products",
                                     memory(task, &s, config));
    optune_plan_define(plan, m, "BLOCK", block);
    optune_plan_define(plan, m, "PRODUCT", product(&s, block));
}

OPTUNE_IMPL(convolution_gradient, transpose_gemm) = {
    .op = "conv2d_transpose",
    .name = "conv2d_transpose_gemm.cpu",
    .summary = "a product for every tap by register tiles, added up into the output",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
