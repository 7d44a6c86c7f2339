/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_across.gpu: reductions whose innermost loop is kept. Threads lie along it, so that they read
 * neighbouring values; several of them share the lines of one output and a tree combines what
 * they hold. Where there are few outputs, blocks take parts of the lines.
 */
#include "kernels/reduce/reduce_gpu.h"

enum { LEAST_THREADS = 32 }; /* of a block, idle ones among them where there is little to do */

static bool applies(const optune_task *task, char *why)
{
    return gpu_applies(task, why) && reduce_innermost(task, false, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "along", 6, (const int64_t[]){8, 16, 32, 64, 128, 256});
    optune_space_ints(space, "across", 6, (const int64_t[]){1, 2, 4, 8, 16, 32});
    optune_space_ints(space, "vector", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "unroll", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "parts", 6, (const int64_t[]){1, 2, 4, 16, 64, 256});
}

/* Blocks along one row. */
static int64_t tiles_of(const reduce_loops *r, int64_t along, int64_t vector)
{
    return host_ceil(reduce_row(r), along * vector);
}

static int64_t shared_of(const optune_task *task, const optune_config *config)
{
    return optune_config_int(config, "along") * optune_config_int(config, "across") *
           optune_config_int(config, "vector") * reduce_held(task->call);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t along = optune_config_int(config, "along");
    const int64_t across = optune_config_int(config, "across");
    const int64_t vector = optune_config_int(config, "vector");
    const int64_t parts = optune_config_int(config, "parts");
    const int64_t most = reduce_vector(&r, reduce_row(&r), 8);
    if (vector > most || vector * reduce_bytes(task->call) > 16)
        return optune_refuse(why, "vectors of %" PRId64 ", the rows allow %" PRId64, vector,
                             host_min(most, 16 / reduce_bytes(task->call)));
    if (along > 8 && along / 2 * vector >= reduce_row(&r) &&
        along / 2 * across >= LEAST_THREADS)
        return optune_refuse(why, "half of the threads lie outside a row");
    if (across > 1 && across > r.count)
        return optune_refuse(why, "%" PRId64 " threads for %" PRId64 " lines", across, r.count);
    if (along * across < LEAST_THREADS)
        return optune_refuse(why, "%" PRId64 " threads in a block are too few", along * across);
    if (!reduce_parts_fit(&r, parts, 4, why) ||
        !gpu_grid_fits(tiles_of(&r, along, vector) * (r.outputs / reduce_row(&r)) * parts, why))
        return false;
    return gpu_fits(task, (const int64_t[]){along, across, 1}, shared_of(task, config),
                    16 + vector * (1 + optune_config_int(config, "unroll")), why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t along = optune_config_int(config, "along");
    const int64_t across = optune_config_int(config, "across");
    const int64_t vector = optune_config_int(config, "vector");
    const int64_t unroll = optune_config_int(config, "unroll");
    const int64_t parts = optune_config_int(config, "parts"), bytes = reduce_bytes(task->call);
    const double lines = (double)host_ceil(r.count, parts * across); /* of a thread */
    const gpu_work w = {
        .blocks = tiles_of(&r, along, vector) * (r.outputs / reduce_row(&r)) * parts,
        .threads = along * across,
        .registers = 20 + vector * (1 + unroll) * bytes / 4,
        .shared = shared_of(task, config),
        .instructions = lines * (2 * (double)vector + 4 + 6 * (double)(r.n_reduced - 1)) + 40 +
                        (double)vector * 6 * (double)gpu_log2(across),
        .waits = lines / (double)unroll + 1,
        .barriers = (double)gpu_log2(across),
    };
    return reduce_gpu_cost(task, &r, parts, w,
                           host_min(along * vector, reduce_row(&r)) * bytes);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t bytes = reduce_bytes(task->call);
    int64_t vector = host_min(reduce_vector(&r, reduce_row(&r), 4), 16 / bytes);
    /* Few outputs are spread over more threads, but those of a warp still read a line of 128 bytes:
     * parts give the rest. */
    while (vector > 1 && vector * bytes > 4 && r.outputs / vector < 128 * gpu_cores(task))
        vector /= 2;
    int64_t along = 32;
    while (along > 8 && along / 2 * vector >= reduce_row(&r))
        along /= 2;
    const int64_t most = gpu_threads(task, 256) / along;
    int64_t across = 1;
    while (2 * across <= most && 2 * across <= 32 && 8 * across <= r.count)
        across *= 2;
    while (along * across < LEAST_THREADS)
        along *= 2;
    while (along > 8 && along / 2 * vector >= reduce_row(&r) && 2 * across <= r.count &&
           across < 32) {
        along /= 2;
        across *= 2;
    }
    /* A core holds few blocks, however small they are. */
    while (along * across < 128 && along * vector < reduce_row(&r) &&
           tiles_of(&r, 2 * along, vector) * (r.outputs / reduce_row(&r)) >=
               8 * gpu_cores(task))
        along *= 2;
    const int64_t blocks = tiles_of(&r, along, vector) * (r.outputs / reduce_row(&r));
    optune_config_choose_int(config, space, "along", along);
    optune_config_choose_int(config, space, "across", across);
    optune_config_choose_int(config, space, "vector", vector);
    const int64_t parts = reduce_parts(task, &r, blocks, 16 * across);
    /* Narrow types have as much under way by more lines at once. */
    const bool longer = bytes < 4 && vector * bytes <= 4 && r.count >= 32 * across * parts;
    const int64_t lines = host_ceil(r.count, across * parts); /* of a thread */
    const bool once = lines > 4 && lines <= 8;
    optune_config_choose_int(config, space, "unroll", longer || once ? 8 : 4);
    optune_config_choose_int(config, space, "parts", parts);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t along = optune_config_int(config, "along");
    const int64_t across = optune_config_int(config, "across");
    const int64_t vector = optune_config_int(config, "vector");
    const int64_t parts = optune_config_int(config, "parts");
    const int64_t tiles = tiles_of(&r, along, vector);
    const int m = optune_plan_module(plan);
    reduce_gpu_define(plan, m, task->call, &r, parts);
    gpu_define_offset(plan, m, "KEPT_OFFSET", "k", r.n_kept ? r.n_kept - 1 : 0, r.kept,
                      r.kept_stride, 0);
    gpu_define_offset(plan, m, "LINE_OFFSET", "i", r.n_reduced, r.reduced, r.reduced_stride, 0);
    optune_plan_define(plan, m, "LENGTH", reduce_row(&r));
    optune_plan_define(plan, m, "ALONG", along);
    optune_plan_define(plan, m, "ACROSS", across);
    optune_plan_define(plan, m, "V", vector);
    optune_plan_define(plan, m, "AT_ONCE", optune_config_int(config, "unroll"));
    optune_plan_define(plan, m, "TILES", tiles);
    optune_plan_define(plan, m, "OUTER", r.outputs / reduce_row(&r));
    reduce_gpu_stages(task, plan, m, &r, parts,
                      (optune_stage){.grid = {tiles * (r.outputs / reduce_row(&r)) * parts},
                                     .block = {along, across},
                                     .shared = shared_of(task, config)});
}

OPTUNE_IMPL(reduce, across) = {
    .name = "across.gpu",
    .pattern = OPTUNE_REDUCTION,
    .summary = "threads along a kept innermost dim",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
