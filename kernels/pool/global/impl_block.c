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

static int64_t blocks_of(const global_shape *s, int64_t along, int64_t abreast)
{
    return host_ceil(s->planes, abreast) * host_ceil(s->block, along);
}

/* Of pixels, which lie side by side where a plane has one channel. */
static int64_t longest(const optune_task *task, const global_shape *s)
{
    int64_t v = s->block > 1 ? 1 : 16 / pattern_bytes(task->call->input[0].type.dtype);
    while (s->pixels % v != 0)
        v /= 2;
    return v;
}

static bool applies(const optune_task *task, char *why)
{
    const optune_dtype dtype = task->call->output[0].dtype;
    if (shape(task).planes < 1 || shape(task).pixels < 1)
        return optune_refuse(why, "needs constant shapes, and something to average");
    if (!pattern_is_real(dtype) || !gpu_stored_type(dtype))
        return optune_refuse(why, "needs floats of 16 to 64 bits");
    const global_shape s = shape(task);
    return gpu_grid_fits(blocks_of(&s, MOST_ALONG, 1), why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "along", 5, (const int64_t[]){1, 4, 8, 16, MOST_ALONG});
    optune_space_ints(space, "across", 6, (const int64_t[]){8, 16, 32, 64, 128, 256});
    optune_space_ints(space, "abreast", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "vector", 4, (const int64_t[]){1, 2, 4, 8});
}

/* Shuffles name every thread of a warp. */
static int64_t least_threads(const optune_task *task)
{
    return host_min(32, task->device->warp);
}

static int64_t shared_of(const global_shape *s, const optune_config *config)
{
    return optune_config_int(config, "along") * optune_config_int(config, "across") *
           optune_config_int(config, "abreast") * (s->f64 ? 8 : 4);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const global_shape s = shape(task);
    const int64_t along = optune_config_int(config, "along");
    const int64_t across = optune_config_int(config, "across");
    const int64_t abreast = optune_config_int(config, "abreast");
    const int64_t vector = optune_config_int(config, "vector");
    if (along * across * abreast < least_threads(task))
        return optune_refuse(why, "%" PRId64 " threads are less than a warp",
                             along * across * abreast);
    if (along > 1 && along >= 2 * s.block)
        return optune_refuse(why, "half of the threads lie outside the channels");
    if (vector > longest(task, &s))
        return optune_refuse(why, "vectors of %" PRId64 ", planes allow %" PRId64, vector,
                             longest(task, &s));
    if (across > 32 && across * vector > 2 * s.pixels)
        return optune_refuse(why, "%" PRId64 " threads for %" PRId64 " pixels", across,
                             s.pixels);
    if (abreast > 1 && abreast >= 2 * s.planes)
        return optune_refuse(why, "half of a block has no plane");
    return gpu_grid_fits(blocks_of(&s, along, abreast), why) &&
           gpu_fits(task, (const int64_t[]){along, across, abreast}, shared_of(&s, config), 24,
                    why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const global_shape s = shape(task);
    const int64_t along = optune_config_int(config, "along");
    const int64_t elem = pattern_bytes(task->call->input[0].type.dtype);
    const int64_t across = optune_config_int(config, "across");
    const int64_t abreast = optune_config_int(config, "abreast");
    const int64_t vector = optune_config_int(config, "vector");
    const double loads = (double)host_ceil(s.pixels / vector, across); /* of a thread */
    const int64_t run = s.block > 1 ? host_min(along, s.block) : s.pixels;
    const gpu_work w = {
        .blocks = blocks_of(&s, along, abreast),
        .threads = along * across * abreast,
        .registers = 24,
        .shared = shared_of(&s, config),
        .instructions = loads * (3 + 2 * (double)vector) + 30 + 4 * (double)gpu_log2(across),
        .bytes = (double)abreast * gpu_sectors(s.block > 1 ? (double)s.pixels : 1, run * elem),
        .waits = 1 + loads / 4,
        .barriers = along * across > 32 ? (double)gpu_log2(across) : 0,
    };
    return gpu_cost(task, &w);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const global_shape s = shape(task);
    const int64_t vector = longest(task, &s), most = gpu_threads(task, 256);
    optune_config_choose_int(config, space, "along", s.block);
    const int64_t along = optune_config_int(config, "along");
    const int64_t loads = host_ceil(s.pixels, vector);
    int64_t across = 8;
    while (across * along < most && across < 256 && 4 * across <= loads)
        across *= 2;
    /* Planes fill the block where one does not, as long as every core has blocks. */
    int64_t abreast = 1;
    while (abreast < 16 && 2 * abreast * across * along <= most &&
           blocks_of(&s, along, 2 * abreast) >= 4 * gpu_cores(task))
        abreast *= 2;
    while (along * across * abreast < least_threads(task))
        across *= 2;
    optune_config_choose_int(config, space, "across", across);
    optune_config_choose_int(config, space, "abreast", abreast);
    optune_config_choose_int(config, space, "vector", vector);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const global_shape s = shape(task);
    const int64_t along = optune_config_int(config, "along");
    const int64_t across = optune_config_int(config, "across");
    const int64_t abreast = optune_config_int(config, "abreast");
    const int m = optune_plan_module(plan);
    gpu_define_index(plan, m, task->call);
    gpu_define_scalar(plan, m, task->call);
    optune_plan_define_text(plan, m, "IN_T", gpu_stored_type(task->call->input[0].type.dtype));
    optune_plan_define(plan, m, "PLANES", s.planes);
    optune_plan_define(plan, m, "PIXELS", s.pixels);
    optune_plan_define(plan, m, "BLOCK", s.block);
    optune_plan_define(plan, m, "ALONG", along);
    optune_plan_define(plan, m, "ACROSS", across);
    optune_plan_define(plan, m, "ABREAST", abreast);
    optune_plan_define(plan, m, "V", optune_config_int(config, "vector"));
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "means",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(0), optune_output_arg(0)},
                                            .grid = {blocks_of(&s, along, abreast)},
                                            .block = {along, across, abreast},
                                            .shared = shared_of(&s, config)});
}

OPTUNE_IMPL(pool_global, block) = {
    .op = "global_avg_pool2d",
    .name = "global_avg_pool2d_block.gpu",
    .summary = "threads for a plane, some planes a block",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
