/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise_conv2d_planes.cpu: NCHW, one filter (or several) for each channel, vectors along the
 * width. Bands of a plane are copied once with their padding in place, columns of a stride of
 * their own apart, so that every load of the computation is a contiguous vector. Long rows gain;
 * where planes are a few pixels wide, vectors of channels (depthwise_conv2d.cpu) do.
 */
#include "kernels/convolution/conv2d.h"

enum { MOST_PARTS = 8 }; /* bands of a plane */

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_most_applies(task, &s, why))
        return false;
    if (s.any_w)
        return optune_refuse(why, "needs constant columns");
    if (s.data_block || s.out_block)
        return optune_refuse(why, "needs NCHW");
    if (s.groups != s.ci || s.ci == 1)
        return optune_refuse(why, "needs as many groups as input channels");
    if (s.ow * conv2d_elem(&s) < 16)
        return optune_refuse(why, "rows of the output are shorter than a vector");
    return (s.kh * s.kw <= 64 && s.kw <= 16 && (s.kh - 1) * s.dh < 24) ||
           optune_refuse(why, "a kernel of more than 64 taps, 16 columns or 24 rows");
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    static const int64_t tiles[] = {1, 2, 3, 4, 6, 8};
    static const int part[] = {1, 2, 4, MOST_PARTS};
    int64_t lanes[8], rows[4];
    int n = 0, n_rows = 0;
    for (int64_t l = conv2d_lanes(task, &s); n < 8 && l * conv2d_elem(&s) >= 16; l /= 2)
        if (l <= s.ow)
            lanes[n++] = l;
    for (int i = 3; i >= 0; i--) {
        const int64_t r = host_ceil(s.oh, part[i]);
        if (n_rows == 0 || rows[n_rows - 1] != r)
            rows[n_rows++] = r;
    }
    optune_space_ints(space, "lanes", n, lanes);
    optune_space_ints(space, "tile_oh", 6, tiles);
    optune_space_ints(space, "tile_ow", 4, tiles);
    optune_space_ints(space, "block_oh", n_rows, rows);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    optune_config_choose_int(config, space, "tile_oh", s.oh < 4 ? s.oh : 4);
    optune_config_choose_int(config, space, "block_oh",
                             s.oh * s.ow > 4096 ? host_ceil(s.oh, 4) : s.oh);
    optune_config_nearest(config, space);
}

/* Columns of one phase, with what whole vectors read beyond the last. */
static int64_t pitch(const conv2d_shape *s, int64_t lanes)
{
    return s->ow + (s->kw - 1) * s->dw / s->sw + 1 + lanes;
}

/* Elements of one thread's band: SW phases of rows. */
static int64_t band(const conv2d_shape *s, int64_t rows, int64_t lanes)
{
    const int64_t in = (rows - 1) * s->sh + (s->kh - 1) * s->dh + 1;
    return (in * s->sw * pitch(s, lanes) + 15) / 16 * 16;
}

static int64_t threads_of(const optune_task *task)
{
    return task->device->threads > 1 ? task->device->threads : 1;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    const int64_t lanes = optune_config_int(config, "lanes");
    const int64_t th = optune_config_int(config, "tile_oh");
    const int64_t tv = optune_config_int(config, "tile_ow");
    const int64_t rows = optune_config_int(config, "block_oh");
    if (th > rows || (tv > 1 && tv * lanes > s.ow))
        return optune_refuse(why, "a tile of %ldx%ld exceeds the block", (long)th,
                             (long)(tv * lanes));
    if (th * tv + 2 > conv2d_registers(task))
        return optune_refuse(why, "%ld accumulators exceed %d registers", (long)(th * tv),
                             conv2d_registers(task));
    if (th > 1 && (th - 1) * s.sh + (s.kh - 1) * s.dh >= 24)
        return optune_refuse(why, "a tile of %ld rows spans more than 24 input rows", (long)th);
    if (band(&s, rows, lanes) * threads_of(task) * conv2d_elem(&s) > INT64_C(1) << 30 &&
        rows > host_ceil(s.oh, MOST_PARTS))
        return optune_refuse(why, "more than 1 GiB of scratch");
    return true;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    const int64_t lanes = optune_config_int(config, "lanes"), threads = threads_of(task);
    const int64_t rows = optune_config_int(config, "block_oh");
    const int64_t chunks = threads == 1 ? 1 : 4 * threads, planes = s.n * s.ci;
    const int m = optune_plan_module(plan);
    conv2d_define_varying(plan, m, &s, 4);
    optune_plan_define(plan, m, "VEC_BYTES", lanes * conv2d_elem(&s));
    optune_plan_define(plan, m, "TH", optune_config_int(config, "tile_oh"));
    optune_plan_define(plan, m, "TV", optune_config_int(config, "tile_ow"));
    optune_plan_define(plan, m, "ROWS", rows);
    optune_plan_define(plan, m, "PITCH", pitch(&s, lanes));
    optune_plan_define(plan, m, "BAND", band(&s, rows, lanes));
    optune_plan_define(plan, m, "CHUNKS", chunks < planes ? chunks : planes);
    const int bands = optune_plan_scratch(
        plan, "bands", band(&s, rows, lanes) * threads * conv2d_elem(&s), false);
    const optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .module = m,
        .function = "depthwise",
        .n_args = 4,
        .arg = {optune_input_arg(CONV2D_DATA), optune_input_arg(CONV2D_WEIGHT),
                optune_output_arg(0), optune_scratch_arg(bands)},
    };
    conv2d_finish(task, plan, &stage);
}

OPTUNE_IMPL(convolution_direct, depthwise_planes) = {
    .op = "conv2d",
    .name = "depthwise_conv2d_planes.cpu",
    .summary = "depthwise in NCHW, vectors along the width of padded bands",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0 data.2",
};
