/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_amx.x86: convolutions of 16-bit floats and 8-bit integers by the tiles of AMX: 16 pixels
 * by 16 output channels of sums each.
 */
#include "kernels/convolution/dots/dots.h"

enum { TILE = 16, TILE_BYTES = TILE * TILE * 4 };

static dots_planes planes_of(const optune_task *task, const conv2d_shape *s, int64_t tm)
{
    return dots_planes_of(s, dot_tiles(task, dots_in(task)), TILE, TILE * tm);
}

static int64_t weight_bytes(const conv2d_shape *s, const dots_planes *p, int64_t tn)
{
    return s->groups * host_ceil(s->co_g, TILE * tn) * tn * s->kh * s->kw *
           host_ceil(p->channel_words, TILE) * TILE_BYTES;
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!dots_applies(task, &s, why))
        return false;
    const dot_step step = dot_tiles(task, dots_in(task));
    if (step == DOT_NONE)
        return optune_refuse(why, "needs 16-bit floats or int8 and the tiles of AMX for it");
    if (s.ci_g < 4 || s.co_g < 4)
        return optune_refuse(why, "needs 4 channels of a group at least: a tile has 16 words");
    const dots_planes p = planes_of(task, &s, 3);
    return matmul_scratch_fits(p.bytes, why) &&
           matmul_scratch_fits(weight_bytes(&s, &p, 4), why);
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    dot_tile_knobs(space);
    dots_block_knobs(space, host_ceil(s.co_g, TILE),
                     host_ceil(planes_of(task, &s, 1).pixels, TILE));
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    return dot_tiles_fit(config, planes_of(task, &s, 1).pixels, s.co_g, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    dot_choose_tiles(space, config, planes_of(task, &s, 1).pixels, s.co_g);
    optune_config_choose_int(config, space, "block_co", host_ceil(s.co_g, TILE));
    optune_config_choose_int(config, space, "block_pixel", 4);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const dots_planes p = planes_of(task, &s, optune_config_int(config, "tile_m"));
    const int64_t tn = optune_config_int(config, "tile_n");
    const int module = optune_plan_module(plan);
    dots_define(plan, module, task, &s, dot_tiles(task, dots_in(task)), &p);
    dot_define_tiles(plan, module, config);
    optune_plan_define(plan, module, "CO_PANELS", optune_config_int(config, "block_co"));
    optune_plan_define(plan, module, "PIXEL_BLOCKS", optune_config_int(config, "block_pixel"));
    dots_stages(task, plan, module, &p, weight_bytes(&s, &p, tn), "amx");
}

OPTUNE_IMPL(convolution_dots, amx) = {
    .op = "conv2d",
    .name = "conv2d_amx.x86",
    .summary = "16-bit floats and 8-bit integers by the tiles of AMX",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
