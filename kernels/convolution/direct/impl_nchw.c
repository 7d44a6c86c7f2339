/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_nchw.cuda: direct convolution with AutoTVM's knobs in AutoTVM's order and meaning, so that
 * an index or an entity of its logs denotes the same schedule here. Serves CUDA and OpenCL.
 * tile_f, tile_y and tile_x are [blocks, virtual threads, threads, each]; tile_rc, tile_ry and
 * tile_rx [steps, in shared memory]. Only the fallback is our own: it is sized by the shape and the
 * device, where AutoTVM takes some other device's best.
 */
#include "kernels/convolution/direct/direct_gpu_rows.h"

typedef struct tiles {
    direct_tiles out;
    const int64_t *rc, *ry, *rx;
} tiles;

static tiles tiles_of(const optune_config *config)
{
    return (tiles){
        .out = direct_tiles_of(config),
        .rc = optune_config_split(config, "tile_rc"),
        .ry = optune_config_split(config, "tile_ry"),
        .rx = optune_config_split(config, "tile_rx"),
    };
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_applies(task, &s, why))
        return false;
    if (s.groups != 1)
        return optune_refuse(why, "needs one group");
    return direct_applies(&s, why);
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    direct_output_knobs(space, &s);
    optune_space_split(space, "tile_rc", s.ci, 2, NULL);
    optune_space_split(space, "tile_ry", s.kh, 2, NULL);
    optune_space_split(space, "tile_rx", s.kw, 2, NULL);
    direct_unroll_knobs(space, 512);
}

static direct_step step_of(const conv2d_shape *s, const tiles *t)
{
    return (direct_step){
        .steps = t->rc[0] * t->ry[0] * t->rx[0],
        .planes = t->rc[1],
        .rows = (direct_block(t->out.y) - 1) * s->sh + (t->ry[1] - 1) * s->dh + 1,
        .cols = (direct_block(t->out.x) - 1) * s->sw + (t->rx[1] - 1) * s->dw + 1,
        .taps = t->rc[1] * t->ry[1] * t->rx[1],
    };
}

static int64_t shared_of(const conv2d_shape *s, const tiles *t)
{
    const direct_step d = step_of(s, t);
    return (d.planes * d.rows * d.cols + direct_block(t->out.f) * d.taps) * conv2d_elem(s);
}

/* Multiply-adds of one thread between two barriers. */
static int64_t steps_of(const tiles *t)
{
    return t->rc[1] * t->ry[1] * t->rx[1] * direct_outputs(&t->out);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const tiles t = tiles_of(config);
    return direct_fits(task, &s, &t.out, shared_of(&s, &t), direct_each(t.out.f), why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const tiles t = tiles_of(config);
    const direct_step d = step_of(&s, &t);
    return direct_cost(task, &s, &t.out, &d, shared_of(&s, &t), direct_each(t.out.f),
                       direct_unroll(config, steps_of(&t)));
}

/* Tiles of at most so many threads whose blocks are not too many: of 4 x 2 outputs, more where 4
 * channels are too few, with a `fewer`-th of the threads along rows and columns. */
static bool choose_tiles(const conv2d_shape *s, int64_t threads, int64_t fewer,
                         const optune_space *space, optune_config *config)
{
    enum { MOST_CHANNELS = 64 };
    const int64_t rows = direct_least_block(s->oh, 1);
    const int64_t across = host_min(16, threads / rows) / fewer;
    optune_config_choose_split(config, space, "tile_x",
                               (const int64_t[]){0, 1, host_max(across, 1), 2});
    const int64_t wide = direct_block(optune_config_split(config, "tile_x"));
    const int64_t threads_x = optune_config_split(config, "tile_x")[2];
    const int64_t high = (wide < 8 ? 4 : 2) / fewer;
    optune_config_choose_split(config, space, "tile_y",
                               (const int64_t[]){0, 1, host_max(high, rows), 1});
    const int64_t threads_y = optune_config_split(config, "tile_y")[2];
    for (int64_t each = 4; each <= MOST_CHANNELS; each *= 2) {
        optune_config_choose_split(
            config, space, "tile_f",
            (const int64_t[]){0, 1, threads / (threads_x * threads_y), each});
        const tiles t = tiles_of(config);
        if (direct_grid_fits(s, &t.out, NULL))
            return true;
    }
    return false;
}

/* About 128 threads, and as many channels in shared memory as 24 KiB hold. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const int64_t threads = gpu_max_threads(task) < 128 ? gpu_max_threads(task) : 128;
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int64_t most = gpu_max_shared(task) < 24 << 10 ? gpu_max_shared(task) : 24 << 10;
    for (int64_t fewer = 1; fewer <= 16; fewer *= 2)
        if (choose_tiles(&s, threads, fewer, space, config))
            break;
    optune_config_choose_split(config, space, "tile_ry", (const int64_t[]){0, s.kh});
    optune_config_choose_split(config, space, "tile_rx", (const int64_t[]){0, s.kw});
    for (int64_t channels = 16; channels >= 1; channels /= 2) {
        optune_config_choose_split(config, space, "tile_rc", (const int64_t[]){0, channels});
        const tiles t = tiles_of(config);
        if (shared_of(&s, &t) <= most)
            break;
    }
    const tiles t = tiles_of(config);
    if (shared_of(&s, &t) > most) {
        optune_config_choose_split(config, space, "tile_ry", (const int64_t[]){0, 1});
        optune_config_choose_split(config, space, "tile_rx", (const int64_t[]){0, 1});
    }
    optune_config_choose_int(config, space, "auto_unroll_max_step", 512);
    optune_config_choose_int(config, space, "unroll_explicit", 1);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const tiles t = tiles_of(config);
    const int m = direct_module(plan, &s, &t.out);
    optune_plan_define(plan, m, "RC", t.rc[1]);
    optune_plan_define(plan, m, "RY", t.ry[1]);
    optune_plan_define(plan, m, "RX", t.rx[1]);
    optune_plan_define(plan, m, "STEP", direct_unroll(config, steps_of(&t)));
    direct_stage(plan, m, &s, &t.out, shared_of(&s, &t));
}

OPTUNE_IMPL(convolution_direct, nchw) = {
    .op = "conv2d",
    .name = "conv2d_nchw.cuda",
    .summary = "direct, input and weight staged in shared memory",
    .task_args = "data weight strides padding dilation out_dtype",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
