/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_dot.cpu: convolutions of narrow numbers (16-bit floats, 8-bit integers) in a tile of
 * registers, by instructions that add up several products where the device has them.
 */
#include "kernels/convolution/dots/dots.h"

static dots_planes planes_of(const optune_task *task, const conv2d_shape *s, dot_step step,
                             int64_t nv)
{
    return dots_planes_of(s, step, 1, 1, nv * matmul_lanes(task, false));
}

static int64_t weight_bytes(const conv2d_shape *s, dot_step step, int64_t mr)
{
    const int64_t words = s->kh * s->kw * dot_row_words(step, s->ci_g) + (step == DOT_I8);
    return s->groups * host_ceil(s->co_g, mr) * mr * words * 4;
}

static bool fits(const optune_task *task, const conv2d_shape *s, dot_step step, int64_t mr,
                 int64_t nv, char *why)
{
    return matmul_scratch_fits(weight_bytes(s, step, mr), why) &&
           matmul_scratch_fits(planes_of(task, s, step, nv).bytes, why);
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    return dots_applies(task, &s, why) && fits(task, &s, dot_any(dots_in(task)), 1, 4, why);
}

/* Vectors of pixels of an output. */
static int64_t vectors(const optune_task *task, const conv2d_shape *s)
{
    const dots_planes p = planes_of(task, s, dot_any(dots_in(task)), 1);
    return host_ceil(p.pixels, matmul_lanes(task, false));
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    matmul_tile_knobs(space, s.co_g, vectors(task, &s));
    dots_block_knobs(space, s.co_g, vectors(task, &s));
    dot_knob(task, dots_in(task), space);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    matmul_choose_tile(task, space, config, s.co_g, vectors(task, &s));
    dot_choose(space, config, dot_best(task, dots_in(task)));
    optune_config_choose_int(config, space, "block_co",
                             host_ceil(s.co_g, optune_config_int(config, "tile_m")));
    optune_config_choose_int(config, space, "block_pixel", 1);
    optune_config_nearest(config, space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int64_t mr = optune_config_int(config, "tile_m");
    const int64_t nv = optune_config_int(config, "tile_n");
    return matmul_tile_fits(task, mr, nv, why) &&
           fits(task, &s, dot_chosen(config), mr, nv, why);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const dot_step step = dot_chosen(config);
    const int64_t mr = optune_config_int(config, "tile_m");
    const dots_planes p = planes_of(task, &s, step, optune_config_int(config, "tile_n"));
    const int module = optune_plan_module(plan);
    dots_define(plan, module, task, &s, step, &p);
    dot_define_tile(plan, module, config);
    optune_plan_define(plan, module, "CO_TILES", optune_config_int(config, "block_co"));
    optune_plan_define(plan, module, "PIXEL_BLOCKS", optune_config_int(config, "block_pixel"));
    dots_stages(task, plan, module, &p, weight_bytes(&s, step, mr), "dots");
}

OPTUNE_IMPL(convolution_dots, dot) = {
    .op = "conv2d",
    .name = "conv2d_dot.cpu",
    .summary = "16-bit floats and 8-bit integers by instructions that add up products",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
