/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_backward_weight_gemm.cpu: grad x patches' by register tiles. Patches are gathered into
 * panels for `block_k` output pixels at a time, so that a panel is read from a cache for all
 * rows of channels; sums of further pixels and images are added in place.
 */
#include "kernels/conv2d_backward_weight/backward_weight.h"
#include "kernels/dense/matmul.h"

static const int64_t depths[] = {64, 128, 256, 512, 1024};

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!backward_shape_of(task->call, &s))
        return optune_refuse(why, "needs constant shapes");
    return tensor_is_float(&task->call->output[0]) ||
           optune_refuse(why, "needs float32 or float64");
}

static int64_t vectors(const optune_task *task, const conv2d_shape *s)
{
    return matmul_ceil(s->ci_g * s->kh * s->kw, matmul_lanes(task, s->f64));
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
           matmul_scratch_fits(
               matmul_threads(task) * memory(task, &s, config) * conv2d_elem(&s), why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    backward_shape_of(task->call, &s);
    int64_t mr, nv;
    matmul_best_tile(task, s.co_g, vectors(task, &s), &mr, &nv);
    optune_config_choose_int(config, space, "tile_m", mr);
    optune_config_choose_int(config, space, "tile_n", nv);
    optune_config_choose_int(config, space, "unroll_k", 2);
    optune_config_choose_int(config, space, "block_k", 512);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    backward_shape_of(task->call, &s);
    const int m = optune_plan_module(plan);
    conv2d_define(plan, m, &s);
    optune_plan_define(plan, m, "KC", optune_config_int(config, "block_k"));
    optune_plan_define(plan, m, "MEMORY", memory(task, &s, config));
    matmul_define_tile(plan, m, config);
    const int panels = optune_plan_scratch(
        plan, "panels", matmul_threads(task) * memory(task, &s, config) * conv2d_elem(&s),
        false);
    optune_plan_stage(
        plan, &(optune_stage){.phase = OPTUNE_TIMED,
                              .module = m,
                              .function = "backward_weight",
                              .n_args = 4,
                              .arg = {optune_input_arg(BACKWARD_GRAD),
                                      optune_input_arg(BACKWARD_DATA), optune_output_arg(0),
                                      optune_scratch_arg(panels)}});
}

OPTUNE_IMPL(conv2d_backward_weight, gemm) = {
    .op = "conv2d_backward_weight",
    .name = "conv2d_backward_weight_gemm.cpu",
    .summary = "gradients times patches by register tiles, summed over images",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
