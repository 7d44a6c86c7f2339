/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_block.gpu: reductions whose innermost loop is reduced. A team of threads walks the values of
 * one output, and a tree in shared memory combines what they hold; where there are few
 * outputs, blocks take parts of the values and a second stage joins them.
 */
#include "kernels/reduce/reduce_gpu.h"

static bool applies(const optune_task *task, char *why)
{
    return gpu_applies(task, why) && reduce_innermost(task, true, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "team", 8, (const int64_t[]){1, 4, 16, 32, 64, 128, 256, 1024});
    optune_space_ints(space, "vector", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "unroll", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "parts", 7, (const int64_t[]){1, 2, 4, 16, 64, 256, 1024});
}

static int64_t rows_of(const reduce_loops *r, const optune_config *config)
{
    const int64_t at_once =
        optune_config_int(config, "threads") / optune_config_int(config, "team");
    return host_ceil(r->outputs, at_once);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    const int64_t vector = optune_config_int(config, "vector");
    const int64_t parts = optune_config_int(config, "parts");
    const int64_t bytes = reduce_bytes(task->call);
    const int64_t most = reduce_vector(&r, reduce_row(&r), 8);
    if (team > threads)
        return optune_refuse(why, "a team is larger than its block");
    if (team > 32 && team > 2 * r.count)
        return optune_refuse(why, "%" PRId64 " threads for %" PRId64 " values", team, r.count);
    if (vector > most || vector * bytes > 16)
        return optune_refuse(why, "vectors of %" PRId64 ", the rows allow %" PRId64, vector,
                             host_min(most, 16 / bytes));
    if (!reduce_parts_fit(&r, parts, 8 * vector, why) ||
        !gpu_grid_fits(rows_of(&r, config) * parts, why))
        return false;
    return gpu_fits(task, (const int64_t[]){threads, 1, 1}, threads * reduce_held(task->call),
                    16 + vector * optune_config_int(config, "unroll"), why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t team = optune_config_int(config, "team");
    const int64_t vector = optune_config_int(config, "vector");
    const int64_t unroll = optune_config_int(config, "unroll");
    const int64_t parts = optune_config_int(config, "parts"), bytes = reduce_bytes(task->call);
    const double loads = (double)host_ceil(r.count, parts * team * vector); /* of a thread */
    const gpu_work w = {
        .blocks = rows_of(&r, config) * parts,
        .threads = threads,
        .registers = 20 + vector * unroll * bytes / 4,
        .shared = threads * reduce_held(task->call),
        .instructions = loads * (2 * (double)vector + 4 + 6 * (double)(r.n_reduced - 1)) + 40 +
                        6 * (double)gpu_log2(team),
        .waits = loads / (double)unroll + 1,
        .barriers = team > 32 ? (double)gpu_log2(team / 32) : 0,
    };
    return reduce_gpu_cost(task, &r, parts, w, host_min(team * vector, reduce_row(&r)) * bytes);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t bytes = reduce_bytes(task->call);
    const int64_t vector = host_min(reduce_vector(&r, reduce_row(&r), 8), 16 / bytes);
    const int64_t threads = gpu_threads(task, 256);
    int64_t team = threads;
    while (team > 32 && team * vector * 2 > r.count)
        team /= 2;
    /* Where rows are no whole vectors a thread has many values of its own, as far as that leaves
     * every core enough of them. */
    while (team > 32 && vector * bytes < 16 && team * vector * 32 > r.count &&
           r.outputs * team / 2 >= 4096 * gpu_cores(task))
        team /= 2;
    while (team > 1 && team * vector > r.count) /* a short row leaves most of a warp idle */
        team /= team == 32 ? 2 : 4;
    team = r.count < 16 ? 1 : team;
    const int64_t blocks = host_ceil(r.outputs, threads / team);
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "team", team);
    optune_config_choose_int(config, space, "vector", vector);
    optune_config_choose_int(config, space, "unroll", 4);
    optune_config_choose_int(config, space, "parts",
                             reduce_parts(task, &r, blocks, 8 * vector * team));
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t parts = optune_config_int(config, "parts");
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t rows = rows_of(&r, config);
    const int m = optune_plan_module(plan);
    reduce_gpu_define(plan, m, task->call, &r, parts);
    gpu_define_offset(plan, m, "KEPT_OFFSET", "k", r.n_kept, r.kept, r.kept_stride, 0);
    gpu_define_offset(plan, m, "REDUCED_OFFSET", "i", r.n_reduced, r.reduced, r.reduced_stride,
                      0);
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "ROW_TEAM", optune_config_int(config, "team"));
    optune_plan_define(plan, m, "V", optune_config_int(config, "vector"));
    optune_plan_define(plan, m, "AT_ONCE", optune_config_int(config, "unroll"));
    optune_plan_define(plan, m, "ROW_BLOCKS", rows);
    reduce_gpu_stages(task, plan, m, &r, parts,
                      (optune_stage){.grid = {rows * parts},
                                     .block = {threads},
                                     .shared = threads * reduce_held(task->call)});
}

OPTUNE_IMPL(reduce, block) = {
    .name = "block.gpu",
    .pattern = OPTUNE_REDUCTION,
    .summary = "teams of threads along a reduced innermost dim",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
