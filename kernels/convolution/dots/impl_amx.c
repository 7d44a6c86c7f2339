/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_amx.x86: convolutions of 16-bit floats and 8-bit integers by the tiles of AMX: 16 pixels
 * by 16 output channels of sums each.
 */
#include "kernels/convolution/dots/dots.h"

enum { TILE = 16, TILE_BYTES = TILE * TILE * 4 };

/* A row of a kernel is one step where that are fewer of them: few channels would leave most of a
 * tile empty. */
static int64_t taps_of(const conv2d_shape *s, dot_step step)
{
    const int64_t words = dot_row_words(step, s->ci_g);
    return host_ceil(s->kw * words, TILE) < s->kw * host_ceil(words, TILE) ? s->kw : 1;
}

/* A kernel that meets each pixel by itself sees one long row. */
static bool shape_of(const optune_task *task, conv2d_shape *s)
{
    if (!conv2d_shape_of(task->call, s))
        return false;
    if (s->kh == 1 && s->kw == 1 && s->sh == 1 && s->sw == 1 && s->oh == s->h &&
        s->ow == s->w) {
        s->w *= s->h;
        s->ow = s->w;
        s->h = s->oh = 1;
    }
    return true;
}

static dots_planes planes_of(const optune_task *task, const conv2d_shape *s, int64_t tm)
{
    const dot_step step = dot_tiles(task, dots_in(task));
    return dots_planes_of(s, step, taps_of(s, step), TILE, TILE * tm);
}

static int64_t weight_bytes(const conv2d_shape *s, const dots_planes *p, int64_t taps,
                            int64_t tn)
{
    return s->groups * host_ceil(s->co_g, TILE * tn) * tn * s->kh * (s->kw / taps) *
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
    const int64_t taps = taps_of(&s, step);
    if (s.ci_g * taps < 4 || s.co_g < 4)
        return optune_refuse(why, "needs 4 channels of a group at least: a tile has 16 words");
    shape_of(task, &s);
    const dots_planes p = planes_of(task, &s, 3);
    return matmul_scratch_fits(p.bytes, why) &&
           matmul_scratch_fits(weight_bytes(&s, &p, taps, 4), why);
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    shape_of(task, &s);
    dot_tile_knobs(space);
    dots_block_knobs(space, host_ceil(s.co_g, TILE),
                     host_ceil(planes_of(task, &s, 1).pixels, TILE));
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    shape_of(task, &s);
    return dot_tiles_fit(config, planes_of(task, &s, 1).pixels, s.co_g, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    shape_of(task, &s);
    const dots_planes p = planes_of(task, &s, 1);
    dot_choose_tiles(space, config, p.pixels, s.co_g);
    optune_config_choose_int(config, space, "block_co", host_ceil(s.co_g, TILE));
    /* What all panels of the weight meet stays in the L2, and is as long as that and the threads
     * allow: lines of the output follow one another within a page. */
    const int64_t tile = TILE * optune_config_int(config, "tile_m");
    const int64_t copies = dot_row_copies(dot_tiles(task, dots_in(task)));
    const int64_t bytes = tile * host_ceil(p.channel_words, TILE) * TILE * copies * 4;
    const int64_t images = s.n * s.groups, threads = matmul_threads(task);
    const int64_t blocks = images % threads == 0
                               ? host_ceil(p.pixels, tile)
                               : host_ceil(host_ceil(p.pixels, tile), threads);
    optune_config_choose_int(
        config, space, "block_pixel",
        host_max(host_min(blocks, matmul_l2(task) / 2 / bytes), host_min(4, blocks)));
    optune_config_nearest(config, space);
}

/* Tasks of `block_co` panels and `block_pixel` blocks at most, and pieces of rows. */
static void define_tasks(const optune_task *task, const optune_config *config,
                         const conv2d_shape *s, const dots_planes *p, optune_plan *plan,
                         int module)
{
    const int64_t panels = host_ceil(s->co_g, TILE * optune_config_int(config, "tile_n"));
    const int64_t blocks = host_ceil(p->pixels, TILE * optune_config_int(config, "tile_m"));
    const int64_t channels = host_ceil(panels, optune_config_int(config, "block_co"));
    const int64_t pixels = host_ceil(blocks, optune_config_int(config, "block_pixel"));
    const int64_t images = s->n * s->groups;
    optune_plan_define(plan, module, "CO_TASKS", channels);
    optune_plan_define(plan, module, "PIXEL_TASKS",
                       host_even_pieces(task, images * channels, pixels, blocks));
    optune_plan_define(plan, module, "ROW_PIECES",
                       host_even_pieces(task,
                                        images * host_ceil(p->channel_words, TILE) * p->rows, 1,
                                        host_ceil(p->pitch, TILE)));
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    shape_of(task, &s);
    const dots_planes p = planes_of(task, &s, optune_config_int(config, "tile_m"));
    const int64_t tn = optune_config_int(config, "tile_n");
    const int module = optune_plan_module(plan);
    const dot_step step = dot_tiles(task, dots_in(task));
    const int64_t taps = taps_of(&s, step);
    dots_define(plan, module, task, &s, step, &p);
    optune_plan_define(plan, module, "TAPS", taps);
    dot_define_tiles(plan, module, config);
    define_tasks(task, config, &s, &p, plan, module);
    dots_stages(task, plan, module, &p, weight_bytes(&s, &p, taps, tn), "amx");
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
