/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_split_planes.x86: float32 convolutions with kernels of several taps by the tiles of AMX,
 * each number as three of bfloat16, split once. Any stride, padding, dilation and number of groups,
 * in NCHW.
 */
#include "kernels/convolution/split/planes.h"

enum { MOST_PITCH = 1 << 16 }; /* two rows on the stack are 512 KiB */

static const int64_t counts[] = {1, 2, 4, 8, 16, 32, 64};

/* Steps of 32 channels of a group. */
static int64_t group_steps(const conv2d_shape *s)
{
    return host_ceil(s->ci_g, SPLIT_DEPTH);
}

static int64_t depth_of(const conv2d_shape *s)
{
    return group_steps(s) * SPLIT_DEPTH * s->kh * s->kw;
}

/* With the least sizes of numbers in front of them. */
static int64_t plane_bytes(const conv2d_shape *s, const split_planes *p)
{
    const int64_t steps = s->n * s->groups * group_steps(s);
    return steps * 16 * 4 * (1 + 3 * p->phase_h * p->phase_w * p->plane);
}

static int64_t weight_bytes(const conv2d_shape *s)
{
    return split_kept_bytes(s->groups * split_channel_panels(s), depth_of(s));
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!split_conv2d_applies(task, &s, why))
        return false;
    if (s.kh * s.kw == 1)
        return optune_refuse(why, "the kernel is 1x1, which splits each number once anyway");
    const split_planes p = split_planes_of(&s);
    if (s.sw > 1 && p.pitch > MOST_PITCH)
        return optune_refuse(why,
                             "rows of %" PRId64 " pixels, strided, are laid out on the stack, "
                             "%d at most",
                             p.pitch, MOST_PITCH);
    return matmul_scratch_fits(plane_bytes(&s, &p), why) &&
           matmul_scratch_fits(weight_bytes(&s), why);
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    matmul_up_to(space, "block_pixel", counts, 7, split_planes_of(&s).panels);
    matmul_up_to(space, "parts", counts, 5, host_min(split_channel_panels(&s), 32));
    optune_space_bools(space, "expect", 2, (bool[]){false, true});
}

/* Pixels whose channels stay in half of the second-level cache beside weights that pass through;
 * channels are shared where there are too few blocks of them. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const int64_t all = split_planes_of(&s).panels, threads = host_threads(task);
    const int64_t panel = s.ci_g * s.sh * s.sw * SPLIT_PANEL * 6;
    const int64_t most = host_max(1, host_min(all, host_l2(task) / 2 / panel));
    const int64_t tasks = s.n * s.groups * host_ceil(all, most);
    optune_config_choose_int(config, space, "block_pixel", most);
    optune_config_choose_int(config, space, "parts",
                             tasks % threads == 0 || tasks >= 4 * threads ? 1 : threads);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    conv2d_shape_of(task->call, &s);
    const split_planes p = split_planes_of(&s);
    const int module = optune_plan_module(plan);
    conv2d_define(plan, module, &s);
    split_define_planes(plan, module, &p);
    optune_plan_define(plan, module, "BLOCK", optune_config_int(config, "block_pixel"));
    optune_plan_define(plan, module, "PARTS", optune_config_int(config, "parts"));
    optune_plan_define(plan, module, "EXPECT", optune_config_bool(config, "expect"));
    const optune_arg weight =
        conv2d_pack(task, plan, module, "pack_weight", weight_bytes(&s) / 4);
    const optune_arg planes =
        optune_scratch_arg(optune_plan_scratch(plan, "planes", plane_bytes(&s, &p), false));
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = module,
                                            .function = "lay_data",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(CONV2D_DATA), planes}});
    conv2d_finish(task, plan,
                  &(optune_stage){.phase = OPTUNE_TIMED,
                                  .module = module,
                                  .function = "conv2d",
                                  .n_args = 4,
                                  .arg = {planes, weight, optune_output_arg(0),
                                          optune_input_arg(CONV2D_DATA)}});
    optune_plan_in_place(plan);
}

OPTUNE_IMPL(convolution_split, planes) = {
    .op = "conv2d",
    .name = "conv2d_split_planes.x86",
    .summary =
        "float32 as three of bfloat16 each, split once for all taps, by the tiles of AMX",
    .fewer_operations = true, /* of float32's units */
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .plan = plan,
    .symbolic = "data.0",
};
