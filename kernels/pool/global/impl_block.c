/* SPDX-License-Identifier: Apache-2.0 */
/* global_avg_pool2d_block.gpu: a block of threads for a plane, its channels beside each other. */
#include "kernels/host/pattern_gpu.h"
#include "kernels/pool/global/global_avg_pool2d.h"

enum { MOST_ALONG = 32 }; /* channels of a block of threads */

static global_shape shape(const optune_task *task)
{
    global_shape s;
    global_shape_of(task->call, &s);
    return s;
}

static int64_t blocks_of(const global_shape *s, int64_t along)
{
    return s->planes * host_ceil(s->block, along);
}

static bool applies(const optune_task *task, char *why)
{
    if (shape(task).planes < 1 || shape(task).pixels < 1)
        return optune_refuse(why, "needs constant shapes, and something to average");
    if (!tensor_is_float(&task->call->output[0]))
        return optune_refuse(why, "needs float32 or float64");
    const global_shape s = shape(task);
    return gpu_grid_fits(blocks_of(&s, MOST_ALONG), why) &&
           gpu_computes(task->call->output[0].dtype, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "along", 5, (const int64_t[]){1, 4, 8, 16, MOST_ALONG});
    optune_space_ints(space, "across", 6, (const int64_t[]){8, 16, 32, 64, 128, 256});
}

/* Shuffles name every thread of a warp. */
static int64_t least_threads(const optune_task *task)
{
    return host_min(32, task->device->warp);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const global_shape s = shape(task);
    const int64_t along = optune_config_int(config, "along");
    const int64_t across = optune_config_int(config, "across");
    if (along * across < least_threads(task))
        return optune_refuse(why, "%" PRId64 " threads are less than a warp", along * across);
    if (along > 1 && along >= 2 * s.block)
        return optune_refuse(why, "half of the threads lie outside the channels");
    if (across > 32 && across > 2 * s.pixels)
        return optune_refuse(why, "%" PRId64 " threads for %" PRId64 " pixels", across,
                             s.pixels);
    return gpu_grid_fits(blocks_of(&s, along), why) &&
           gpu_fits(task, (const int64_t[]){along, across, 1}, along * across * (s.f64 ? 8 : 4),
                    24, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const global_shape s = shape(task);
    const int64_t along = optune_config_int(config, "along"), elem = s.f64 ? 8 : 4;
    const int64_t across = optune_config_int(config, "across");
    const double pixels = (double)host_ceil(s.pixels, across); /* of a thread */
    const int64_t run = s.block > 1 ? host_min(along, s.block) : s.pixels;
    const gpu_work w = {
        .blocks = blocks_of(&s, along),
        .threads = along * across,
        .registers = 24,
        .shared = along * across * elem,
        .instructions = pixels * 5 + 30 + 4 * (double)gpu_log2(across),
        .bytes = gpu_sectors(s.block > 1 ? (double)s.pixels : 1, run * elem),
        .waits = 1 + pixels / 4,
        .barriers = along * across > 32 ? (double)gpu_log2(across) : 0,
    };
    return gpu_cost(task, &w);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const global_shape s = shape(task);
    optune_config_choose_int(config, space, "along", s.block);
    const int64_t along = optune_config_int(config, "along");
    int64_t across = 8;
    while (across * along < gpu_threads(task, 256) && across < 256 &&
           (across * along < least_threads(task) ||
            (across <= s.pixels && (across * along < 32 || 4 * across <= s.pixels))))
        across *= 2;
    optune_config_choose_int(config, space, "across", across);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const global_shape s = shape(task);
    const int64_t along = optune_config_int(config, "along");
    const int64_t across = optune_config_int(config, "across");
    const int m = optune_plan_module(plan);
    gpu_define_index(plan, m, task->call);
    optune_plan_define_text(plan, m, "DTYPE", s.f64 ? "double" : "float");
    optune_plan_define(plan, m, "PIXELS", s.pixels);
    optune_plan_define(plan, m, "BLOCK", s.block);
    optune_plan_define(plan, m, "ALONG", along);
    optune_plan_define(plan, m, "ACROSS", across);
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "means",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(0), optune_output_arg(0)},
                                            .grid = {blocks_of(&s, along)},
                                            .block = {along, across},
                                            .shared = along * across * (s.f64 ? 8 : 4)});
}

OPTUNE_IMPL(pool_global, block) = {
    .op = "global_avg_pool2d",
    .name = "global_avg_pool2d_block.gpu",
    .summary = "a block of threads for a plane",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
