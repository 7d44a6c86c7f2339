/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_backward_weight_gemm.cpu: grad x patches' by register tiles. Patches are gathered into
 * panels for `block_k` output pixels at a time, so that a panel is read from a cache for all
 * rows of channels; sums of further pixels and images are added in place.
 */
#include "kernels/convolution/gradient/backward_weight.h"
#include "kernels/convolution/gradient/gradient_gemm.h"

static const int64_t depths[] = {64, 128, 256, 512, 1024};

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    return gradient_gemm_applies(task, backward_shape_of(task->call, &s), why);
}

static int64_t vectors(const optune_task *task, const conv2d_shape *s)
{
    return host_ceil(s->ci_g * s->kh * s->kw, matmul_lanes(task, s->f64));
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    backward_shape_of(task->call, &s);
    matmul_tile_knobs(space, s.co_g, vectors(task, &s));
    matmul_up_to(space, "block_k", depths, 5, s.oh * s.ow);
}

/* Elements of one thread: a panel, and its patches before they are transposed. */
static int64_t memory(const optune_task *task, const conv2d_shape *s,
                      const optune_config *config)
{
    const int64_t nr = optune_config_int(config, "tile_n") * matmul_lanes(task, s->f64);
    const int64_t depth = (optune_config_int(config, "block_k") + 15) / 16 * 16;
    return 2 * nr * depth;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    backward_shape_of(task->call, &s);
    return matmul_tile_fits(task, optune_config_int(config, "tile_m"),
                            optune_config_int(config, "tile_n"), why) &&
           matmul_scratch_fits(gradient_gemm_bytes(task, &s, memory(task, &s, config)), why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    backward_shape_of(task->call, &s);
    matmul_choose_tile(task, space, config, s.co_g, vectors(task, &s));
    optune_config_choose_int(config, space, "block_k", 512);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    backward_shape_of(task->call, &s);
    const int m = gradient_gemm_plan(task, config, plan, &s, "backward_weight", "panels",
                                     memory(task, &s, config));
    optune_plan_define(plan, m, "KC", optune_config_int(config, "block_k"));
}

OPTUNE_IMPL(convolution_gradient, weight_gemm) = {
    .op = "conv2d_backward_weight",
    .name = "conv2d_backward_weight_gemm.cpu",
    .summary = "gradients times patches by register tiles, summed over images",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
