/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_im2col.cpu: plain NCHW as a GEMM over columns that are made block by block; any
 * kernel, stride, padding, dilation and number of groups. It pays where planes are small or
 * strides and kernels odd; vectors run over output pixels, so tiny planes waste lanes.
 */
#include "kernels/convolution/conv2d.h"

static int64_t depth_of(const conv2d_shape *s)
{
    return s->ci_g * s->kh * s->kw;
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_most_applies(task, &s, why))
        return false;
    if (s.data_block || s.out_block)
        return optune_refuse(why, "needs NCHW, in and out");
    return true;
}

/* Sizes of a block of an axis: all of it, and `unit`, times powers of two. */
static int block_sizes(int64_t extent, int64_t unit, int64_t value[], int max)
{
    int n = 0;
    for (int64_t v = unit; v < extent && n < max - 1; v *= 2)
        value[n++] = v;
    value[n++] = extent;
    return n;
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    static const int64_t co[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28};
    static const int64_t pixel[] = {1, 2, 3, 4}, unroll[] = {1, 2, 4};
    int64_t value[16];
    optune_space_ints(space, "tile_co", sizeof co / sizeof co[0], co);
    optune_space_ints(space, "tile_pixel", 4, pixel);
    int n = block_sizes(s.oh * s.ow, 3 * conv2d_lanes(task, &s), value, 8);
    optune_space_ints(space, "block_pixel", n, value);
    n = block_sizes(depth_of(&s), 64, value, 8);
    optune_space_ints(space, "block_k", n, value);
    optune_space_ints(space, "unroll", 3, unroll);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    const int64_t area = s.oh * s.ow, lanes = conv2d_lanes(task, &s);
    /* The widest panel that wastes no vector of the plane, or few; columns in a quarter of L2,
     * few rows of them in half of L1, where what is fused finds the output, too. */
    const int64_t vecs = host_ceil(area, lanes);
    const int64_t nv = conv2d_registers(task) < 32 ? vecs >= 16 || vecs % 2 == 0 ? 2 : 1
                       : vecs % 2 == 0             ? 2
                       : vecs % 3 == 0             ? 3
                                                   : 1;
    const int64_t most = (conv2d_registers(task) - 1) / nv - 1;
    const int64_t l2 = task->device->l2 > 0 ? task->device->l2 : 256 * 1024;
    const int64_t l1 = task->device->l1 > 0 ? task->device->l1 : 32 * 1024;
    const int64_t room = (depth_of(&s) <= 64 ? l1 / 2 : l2 / 4) / conv2d_elem(&s);
    optune_config_choose_int(config, space, "tile_co",
                             host_ceil(s.co_g, host_ceil(s.co_g, host_min(most, 14))));
    optune_config_choose_int(config, space, "tile_pixel", nv);
    optune_config_choose_int(config, space, "block_k", 512);
    const int64_t depth = optune_config_int(config, "block_k");
    optune_config_choose_int(config, space, "block_pixel", room / depth);
    optune_config_choose_int(config, space, "unroll", 2);
}

/* The odd vector keeps consecutive rows of columns out of the same cache sets. */
static int64_t pitch_of(const optune_task *task, const conv2d_shape *s,
                        const optune_config *config)
{
    const int64_t nv = optune_config_int(config, "tile_pixel"), lanes = conv2d_lanes(task, s);
    return (host_ceil(optune_config_int(config, "block_pixel"), nv * lanes) * nv | 1) * lanes;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    const int64_t co = optune_config_int(config, "tile_co");
    const int64_t nv = optune_config_int(config, "tile_pixel");
    const int64_t block = optune_config_int(config, "block_pixel");
    if (co > s.co_g)
        return optune_refuse(why, "only %ld output channels in a group", (long)s.co_g);
    if (nv > 1 && (nv - 1) * conv2d_lanes(task, &s) >= block)
        return optune_refuse(why, "only %ld pixels in a block", (long)block);
    if ((co + 1) * nv + 1 > conv2d_registers(task))
        return optune_refuse(why, "%ld accumulators exceed %d registers", (long)(co * nv),
                             conv2d_registers(task));
    const int threads = task->device->threads > 1 ? task->device->threads : 1;
    const int64_t most = (INT64_C(1) << 30) / conv2d_elem(&s);
    if (pitch_of(task, &s, config) * optune_config_int(config, "block_k") * threads > most)
        return optune_refuse(why, "more than 1 GiB of columns");
    return true;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_most_of(task->call, &s);
    const int64_t elem = conv2d_elem(&s), lanes = conv2d_lanes(task, &s);
    const int64_t mr = optune_config_int(config, "tile_co");
    const int64_t pixels = optune_config_int(config, "block_pixel");
    const int64_t depth = optune_config_int(config, "block_k");
    const int threads = task->device->threads > 1 ? task->device->threads : 1;
    const int64_t tiles = host_ceil(s.co_g, mr);
    const int64_t nr = optune_config_int(config, "tile_pixel") * lanes;
    const int loops = optune_plan_module(plan), module = optune_plan_module(plan);
    for (int m = loops; m <= module; m++) {
        conv2d_define_varying(plan, m, &s, 11);
        conv2d_light(plan, m);
    }
    optune_plan_define(plan, module, "TILE", 1);
    optune_plan_define(plan, module, "GEMM_MR", mr);
    optune_plan_define(plan, module, "GEMM_NV", optune_config_int(config, "tile_pixel"));
    optune_plan_define(plan, module, "GEMM_KU", optune_config_int(config, "unroll"));

    const int64_t size = host_ceil(depth_of(&s) * mr, lanes) * lanes + lanes;
    const int64_t pitch = pitch_of(task, &s, config);
    const optune_arg packed = optune_scratch_arg(
        optune_plan_scratch(plan, "weights", s.groups * tiles * size * elem,
                            task->call->input[CONV2D_WEIGHT].is_const));
    optune_plan_stage(plan,
                      &(optune_stage){.phase = conv2d_weight_phase(task->call),
                                      .module = loops,
                                      .function = "pack_weight",
                                      .n_args = 4,
                                      .arg = {optune_input_arg(CONV2D_WEIGHT), packed,
                                              optune_int_arg(mr), optune_int_arg(size)}});
    const int columns =
        optune_plan_scratch(plan, "columns", pitch * depth * threads * elem, false);
    conv2d_finish(
        task, plan,
        &(optune_stage){
            .phase = OPTUNE_TIMED,
            .module = loops,
            .function = "im2col",
            .n_args = 11,
            .arg = {optune_input_arg(CONV2D_DATA), packed, optune_output_arg(0),
                    optune_scratch_arg(columns), optune_function_arg(module, "tile"),
                    optune_int_arg(mr), optune_int_arg(size), optune_int_arg(pitch),
                    optune_int_arg(nr), optune_int_arg(host_ceil(pixels, nr)),
                    optune_int_arg(depth)},
        });
}

OPTUNE_IMPL(convolution, im2col) = {
    .op = "conv2d",
    .name = "conv2d_im2col.cpu",
    .summary = "NCHW as a GEMM over blocks of columns that stay in the L2",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0 data.2 data.3",
};
