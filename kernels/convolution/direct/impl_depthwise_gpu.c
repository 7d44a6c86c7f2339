/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise_conv2d_nchw.cuda: a channel at a time with AutoTVM's knobs in AutoTVM's order and
 * meaning, so that an index or an entity of its logs denotes the same schedule here. Serves
 * CUDA and OpenCL. tile_f, tile_y and tile_x are [blocks, virtual threads, threads, each]. Only
 * the fallback is our own: threads along rows, a few rows each, as many channels as fill a
 * block.
 */
#include "kernels/convolution/direct/direct_gpu_rows.h"

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    direct_output_knobs(space, &s);
    direct_unroll_knobs(space, 256);
}

/* Planes of the input that a block of output channels sees. */
static int64_t channels_of(const conv2d_shape *s, const direct_tiles *t)
{
    const int64_t block = direct_block(t->f), multiplier = s->co_g;
    if (block % multiplier == 0)
        return block / multiplier;
    return multiplier % block == 0 ? 1 : (block + multiplier - 2) / multiplier + 1;
}

static direct_step step_of(const conv2d_shape *s, const direct_tiles *t)
{
    return (direct_step){
        .steps = 1,
        .planes = channels_of(s, t),
        .rows = (direct_block(t->y) - 1) * s->sh + (s->kh - 1) * s->dh + 1,
        .cols = (direct_block(t->x) - 1) * s->sw + (s->kw - 1) * s->dw + 1,
        .taps = s->kh * s->kw,
    };
}

static int64_t shared_of(const conv2d_shape *s, const direct_tiles *t)
{
    const direct_step d = step_of(s, t);
    return (d.planes * d.rows * d.cols + direct_block(t->f) * d.taps) * conv2d_elem(s);
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_applies(task, &s, why))
        return false;
    if (!conv2d_is_depthwise(&s))
        return optune_refuse(why, "it is not depthwise");
    if (!direct_applies(&s, why))
        return false;
    const int64_t f[] = {0, 1, 1, direct_least_block(s.co, s.n)};
    const int64_t y[] = {0, 1, 1, direct_least_block(s.oh, 1)}, x[] = {0, 1, 1, 1};
    return shared_of(&s, &(direct_tiles){f, y, x}) <= gpu_max_shared(task) ||
           optune_refuse(why, "what the smallest block sees is more than shared memory");
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const direct_tiles t = direct_tiles_of(config);
    return direct_fits(task, &s, &t, shared_of(&s, &t), 2, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const direct_tiles t = direct_tiles_of(config);
    const direct_step d = step_of(&s, &t);
    return direct_cost(task, &s, &t, &d, shared_of(&s, &t), 2,
                       direct_unroll(config, direct_outputs(&t) * d.taps));
}

/* A smaller block until it is valid: fewer channels, then rows, then columns. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    enum { THREADS = 128, ROWS = 4, COLUMNS = 64 };
    optune_config_choose_int(config, space, "auto_unroll_max_step", 1500);
    optune_config_choose_int(config, space, "unroll_explicit", 1);
    for (int64_t columns = COLUMNS; columns >= 1; columns /= 2)
        for (int64_t rows = ROWS; rows >= 1; rows /= 2)
            for (int64_t threads = THREADS; threads >= 1; threads /= 2) {
                optune_config_choose_split(config, space, "tile_x",
                                           (const int64_t[]){0, 1, columns, 1});
                const int64_t wide = optune_config_split(config, "tile_x")[2];
                optune_config_choose_split(
                    config, space, "tile_y",
                    (const int64_t[]){0, 1, threads > wide ? threads / wide : 1, rows});
                const int64_t plane = wide * optune_config_split(config, "tile_y")[2];
                optune_config_choose_split(
                    config, space, "tile_f",
                    (const int64_t[]){0, 1, threads > plane ? threads / plane : 1, 1});
                if (valid(task, config, NULL))
                    return;
            }
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const direct_tiles t = direct_tiles_of(config);
    const int m = direct_module(plan, &s, &t);
    optune_plan_define(plan, m, "MULTIPLIER", s.co_g);
    optune_plan_define(plan, m, "CHANNELS", channels_of(&s, &t));
    optune_plan_define(plan, m, "STEP",
                       direct_unroll(config, direct_outputs(&t) * s.kh * s.kw));
    direct_stage(plan, m, &s, &t, shared_of(&s, &t));
}

OPTUNE_IMPL(convolution_direct, depthwise_gpu) = {
    .op = "conv2d",
    .name = "depthwise_conv2d_nchw.cuda",
    .summary = "a channel at a time, its input and weights staged in shared memory",
    .task_args =
        "data weight strides padding dilation out_dtype groups=data[1] groups=weight[0]",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
