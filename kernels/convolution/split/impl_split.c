/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_split.x86: float32 convolutions by the tiles of AMX, each number as three of bfloat16, at
 * float32's accuracy (kernels/matmul/split.kernel.h). Any kernel, stride, padding, dilation and
 * number of groups, in NCHW.
 */
#include "kernels/convolution/split/planes.h"

static const int64_t counts[] = {1, 2, 4, 8, 16}, chunks[] = {16, 32, 64, 128};

typedef struct blocks {
    int64_t pixels, parts, steps; /* panels of pixels, parts of the channels, steps of depth */
} blocks;

static int64_t plane_bytes(const conv2d_shape *s, const split_planes *p)
{
    return s->n * s->ci * p->phase_h * p->phase_w * p->plane * 4;
}

static int64_t depth_of(const conv2d_shape *s)
{
    return s->ci_g * s->kh * s->kw;
}

static blocks blocks_of(const optune_config *config)
{
    return (blocks){optune_config_int(config, "block_pixel"),
                    optune_config_int(config, "parts"), optune_config_int(config, "block_k")};
}

static int64_t data_bytes(const optune_task *task, const blocks *b)
{
    return host_threads(task) * b->pixels * b->steps * SPLIT_STEP_BYTES;
}

/* Few where all of the depth is one chunk. */
static int64_t sum_bytes(const optune_task *task, const conv2d_shape *s, const blocks *b)
{
    return b->steps >= split_steps(depth_of(s))
               ? 64
               : host_threads(task) * b->pixels * host_ceil(split_channel_panels(s), b->parts) *
                         SPLIT_SUM_BYTES +
                     64;
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!split_conv2d_applies(task, &s, why))
        return false;
    const split_planes p = split_planes_of(&s);
    return matmul_scratch_fits(plane_bytes(&s, &p), why) &&
           matmul_scratch_fits(
               split_kept_bytes(s.groups * split_channel_panels(&s), depth_of(&s)), why);
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    matmul_up_to(space, "block_pixel", counts, 5, split_planes_of(&s).panels);
    matmul_up_to(space, "parts", counts, 5, host_min(split_channel_panels(&s), 32));
    matmul_up_to(space, "block_k", chunks, 4, split_steps(depth_of(&s)));
    optune_space_bools(space, "expect", 2, (bool[]){false, true});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const blocks b = blocks_of(config);
    if (b.pixels > 1024)
        return optune_refuse(why, "needs at most 1024 panels of pixels in a block");
    return matmul_scratch_fits(data_bytes(task, &b), why) &&
           matmul_scratch_fits(sum_bytes(task, &s, &b), why);
}

/* Pixels that stay in half of the second-level cache; channels are shared where there are too few
 * blocks of them. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int64_t all = split_planes_of(&s).panels, steps = split_steps(depth_of(&s));
    const int64_t room = host_l2(task) / 2 / SPLIT_STEP_BYTES, threads = host_threads(task);
    const int64_t held = room / host_min(all, 8); /* steps of so many panels */
    const int64_t chunk = steps <= held ? steps : held >= 64 ? 64 : held >= 32 ? 32 : 16;
    const int64_t most = host_min(16, host_max(1, room / chunk));
    const int64_t tasks = s.n * s.groups * host_ceil(all, most);
    optune_config_choose_int(config, space, "block_pixel", host_min(all, most));
    optune_config_choose_int(config, space, "block_k", chunk);
    optune_config_choose_int(config, space, "parts",
                             tasks % threads == 0 || tasks >= 4 * threads ? 1 : threads);
    optune_config_nearest(config, space);
}

static optune_arg lay(const conv2d_shape *s, const split_planes *p, optune_plan *plan,
                      int module)
{
    if (p->direct)
        return optune_input_arg(CONV2D_DATA);
    const optune_arg data =
        optune_scratch_arg(optune_plan_scratch(plan, "planes", plane_bytes(s, p), false));
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = module,
                                            .function = "lay_data",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CONV2D_DATA), data}});
    return data;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const split_planes p = split_planes_of(&s);
    const blocks b = blocks_of(config);
    const int module = optune_plan_module(plan);
    conv2d_define(plan, module, &s);
    split_define_planes(plan, module, &p);
    optune_plan_define(plan, module, "DIRECT", p.direct);
    optune_plan_define(plan, module, "BLOCK", b.pixels);
    optune_plan_define(plan, module, "PARTS", b.parts);
    optune_plan_define(plan, module, "CHUNK", b.steps);
    optune_plan_define(plan, module, "EXPECT", optune_config_bool(config, "expect"));
    const int64_t kept = split_kept_bytes(s.groups * split_channel_panels(&s), depth_of(&s));
    const optune_arg weight = conv2d_pack(task, plan, module, "pack_weight", kept / 4);
    const optune_arg data = lay(&s, &p, plan, module);
    const int pixels = optune_plan_scratch(plan, "pixels", data_bytes(task, &b), false);
    const int sums = optune_plan_scratch(plan, "sums", sum_bytes(task, &s, &b), false);
    conv2d_finish(
        task, plan,
        &(optune_stage){.phase = OPTUNE_TIMED,
                        .module = module,
                        .function = "conv2d",
                        .n_args = 5,
                        .arg = {data, weight, optune_output_arg(0), optune_scratch_arg(pixels),
                                optune_scratch_arg(sums)}});
    optune_plan_in_place(plan);
}

OPTUNE_IMPL(convolution_split, split) = {
    .op = "conv2d",
    .name = "conv2d_split.x86",
    .summary = "float32 as three of bfloat16 each by the tiles of AMX",
    .fewer_operations = true, /* of float32's units */
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
};
