/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise_conv2d_nchw.cuda: a channel at a time with AutoTVM's knobs in AutoTVM's order and
 * meaning, so that an index or an entity of its logs denotes the same schedule here. Serves
 * CUDA and OpenCL. tile_f, tile_y and tile_x are [blocks, virtual threads, threads, each]. Only
 * the fallback is our own: threads along rows, a few rows each, as many channels as fill a
 * block.
 */
#include "kernels/common/gpu_limits.h"
#include "kernels/conv2d/direct_gpu_rows.h"

typedef struct tiles {
    const int64_t *f, *y, *x;
} tiles;

static tiles tiles_of(const optune_config *config)
{
    return (tiles){
        .f = optune_config_split(config, "tile_f"),
        .y = optune_config_split(config, "tile_y"),
        .x = optune_config_split(config, "tile_x"),
    };
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_applies(task, &s, why))
        return false;
    if (!conv2d_is_depthwise(&s))
        return optune_refuse(why, "it is not depthwise");
    return direct_applies(&s, why);
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    direct_output_knobs(space, &s);
    direct_unroll_knobs(space, 256);
}

/* Planes of the input that a block of output channels sees. */
static int64_t channels_of(const conv2d_shape *s, const tiles *t)
{
    const int64_t block = direct_block(t->f), multiplier = s->co_g;
    if (block % multiplier == 0)
        return block / multiplier;
    return multiplier % block == 0 ? 1 : (block + multiplier - 2) / multiplier + 1;
}

static int64_t shared_of(const conv2d_shape *s, const tiles *t)
{
    const int64_t rows = (direct_block(t->y) - 1) * s->sh + (s->kh - 1) * s->dh + 1;
    const int64_t cols = (direct_block(t->x) - 1) * s->sw + (s->kw - 1) * s->dw + 1;
    return (channels_of(s, t) * rows * cols + direct_block(t->f) * s->kh * s->kw) *
           conv2d_elem(s);
}

static int64_t outputs_of(const tiles *t)
{
    return direct_outputs(t->f) * direct_outputs(t->y) * direct_outputs(t->x);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const tiles t = tiles_of(config);
    const int64_t block[3] = {t.x[2], t.y[2], t.f[2]}, outputs = outputs_of(&t);
    if (outputs > DIRECT_MOST_OUTPUTS)
        return optune_refuse(why, "a thread computes %" PRId64 " outputs, at most %d", outputs,
                             (int)DIRECT_MOST_OUTPUTS);
    if (t.y[0] > 65535 || s.n * t.f[0] > 65535)
        return optune_refuse(why, "more blocks than a grid's height or depth");
    return gpu_fits(task, block, shared_of(&s, &t), conv2d_elem(&s) / 4 * (outputs + 2) + 12,
                    why);
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
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const tiles t = tiles_of(config);
    const int m = optune_plan_module(plan);
    conv2d_define(plan, m, &s);
    direct_define(plan, m, (const char *const[]){"VF", "TF", "FI"}, t.f);
    direct_define(plan, m, (const char *const[]){"VY", "TY", "YI"}, t.y);
    direct_define(plan, m, (const char *const[]){"VX", "TX", "XI"}, t.x);
    optune_plan_define(plan, m, "MULTIPLIER", s.co_g);
    optune_plan_define(plan, m, "CHANNELS", channels_of(&s, &t));
    optune_plan_define(plan, m, "STEP", direct_unroll(config, outputs_of(&t) * s.kh * s.kw));
    optune_plan_stage(plan, &(optune_stage){
                                .phase = OPTUNE_TIMED,
                                .module = m,
                                .function = "conv2d",
                                .n_args = 3,
                                .arg = {optune_input_arg(CONV2D_DATA),
                                        optune_input_arg(CONV2D_WEIGHT), optune_output_arg(0)},
                                .grid = {t.x[0], t.y[0], s.n * t.f[0]},
                                .block = {t.x[2], t.y[2], t.f[2]},
                                .shared = shared_of(&s, &t),
                            });
}

OPTUNE_IMPL(conv2d, depthwise_gpu) = {
    .op = "conv2d",
    .name = "depthwise_conv2d_nchw.cuda",
    .summary = "a channel at a time, its input and weights staged in shared memory",
    .task_args = "data weight strides padding dilation out_dtype",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
