/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise_conv2d.cpu: one filter for each channel, computed on vectors of channels; any
 * kernel, stride, padding and dilation. NCHW is transposed on the way in and out, inside the
 * time.
 */
#include "kernels/convolution/conv2d.h"

enum { MOST_PARTS = 8 }; /* blocks of rows in a plane */

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_applies(task, &s, why))
        return false;
    if (s.groups != s.ci)
        return optune_refuse(why, "needs as many groups as input channels");
    if (s.co != s.ci)
        return optune_refuse(why, "needs as many output as input channels");
    return true;
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    static const int64_t th[] = {1, 2, 3, 4};
    static const int64_t tw[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28};
    static const int part[] = {1, 2, 4, MOST_PARTS};
    static const bool unroll[] = {false, true};
    int64_t rows[4];
    int n = 0;
    for (int i = 3; i >= 0; i--) {
        const int64_t r = host_ceil(s.oh, part[i]);
        if (n == 0 || rows[n - 1] != r)
            rows[n++] = r;
    }
    optune_space_ints(space, "tile_oh", 4, th);
    optune_space_ints(space, "tile_ow", sizeof tw / sizeof tw[0], tw);
    optune_space_ints(space, "block_oh", n, rows);
    optune_space_bools(space, "unroll_kh", 2, unroll);
}

/* A block that is narrower than a register, and a proper part of it, sets the vector's width:
 * then nothing has to be gathered. */
static int64_t lanes_of(const optune_task *task, const conv2d_shape *s)
{
    int64_t lanes = conv2d_lanes(task, s);
    const int64_t block = host_max(s->data_block, s->out_block);
    while (block > 0 && lanes > block && lanes * conv2d_elem(s) > 16)
        lanes /= 2;
    return lanes;
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    /* The fewest tiles that leave registers for a row of inputs and of weights. */
    const int64_t most = conv2d_registers(task) >= 32 ? 14 : 6;
    optune_config_choose_int(config, space, "tile_oh", 1);
    optune_config_choose_int(config, space, "tile_ow", host_ceil(s.ow, host_ceil(s.ow, most)));
    const bool copies = s.data_block == 0 || s.out_block == 0;
    optune_config_choose_int(config, space, "block_oh",
                             copies && s.oh * s.ow > 1024 ? host_ceil(s.oh, 4) : s.oh);
    optune_config_nearest(config, space);
}

static int64_t band(const optune_task *task, const conv2d_shape *s, int64_t rows)
{
    int64_t in = (rows - 1) * s->sh + (s->kh - 1) * s->dh + 1;
    if (in > s->h)
        in = s->h;
    return host_max(in * s->w, rows * s->ow) * lanes_of(task, s);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int64_t th = optune_config_int(config, "tile_oh");
    const int64_t tw = optune_config_int(config, "tile_ow");
    const int64_t rows = optune_config_int(config, "block_oh");
    if (tw > s.ow || th > rows)
        return optune_refuse(why, "a tile of %ldx%ld exceeds the output", (long)th, (long)tw);
    if (th * tw + 2 > conv2d_registers(task))
        return optune_refuse(why, "%ld accumulators exceed %d registers", (long)(th * tw),
                             conv2d_registers(task));
    if (th > 1 && (th - 1) * s.sh + (s.kh - 1) * s.dh >= 16)
        return optune_refuse(why, "a tile of %ld rows spans more than 16 input rows", (long)th);
    const int threads = task->device->threads > 1 ? task->device->threads : 1;
    if (2 * band(task, &s, rows) * threads * conv2d_elem(&s) > INT64_C(1) << 30 &&
        rows > host_ceil(s.oh, MOST_PARTS))
        return optune_refuse(why, "more than 1 GiB of scratch");
    return true;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int64_t elem = conv2d_elem(&s), lanes = lanes_of(task, &s);
    const int64_t rows = optune_config_int(config, "block_oh");
    const int module = optune_plan_module(plan);
    conv2d_define(plan, module, &s);
    optune_plan_define(plan, module, "VEC_BYTES", lanes * elem);
    optune_plan_define(plan, module, "TH", optune_config_int(config, "tile_oh"));
    optune_plan_define(plan, module, "TW", optune_config_int(config, "tile_ow"));
    optune_plan_define(plan, module, "ROWS", rows);
    optune_plan_define(plan, module, "UNROLL_KH",
                       optune_config_bool(config, "unroll_kh") ? s.kh : 1);
    /* Only the transposition of kernels/matmul/gemm.kernel.h is used. */
    optune_plan_define(plan, module, "GEMM_MR", 1);
    optune_plan_define(plan, module, "GEMM_NV", 1);

    const int threads = task->device->threads > 1 ? task->device->threads : 1;
    const optune_arg packed = conv2d_pack(task, plan, module, "pack_weight",
                                          host_ceil(s.co, lanes) * lanes * s.kh * s.kw);
    const int bands =
        optune_plan_scratch(plan, "bands", 2 * band(task, &s, rows) * threads * elem, false);
    conv2d_finish(task, plan,
                  &(optune_stage){
                      .phase = OPTUNE_TIMED,
                      .module = module,
                      .function = "depthwise",
                      .n_args = 4,
                      .arg = {optune_input_arg(CONV2D_DATA), packed, optune_output_arg(0),
                              optune_scratch_arg(bands)},
                  });
}

OPTUNE_IMPL(convolution_direct, depthwise) = {
    .op = "conv2d",
    .name = "depthwise_conv2d.cpu",
    .summary = "depthwise, vectors of channels, register tiles of output pixels",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
};
