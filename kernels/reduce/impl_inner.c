/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_inner.cpu: reductions whose innermost loop is reduced. Vectors run along it, with a
 * number of partial results that is a knob; their lanes are combined at the end of a row.
 */
#include "kernels/reduce/reduce.h"

static bool applies(const optune_task *task, char *why)
{
    return reduce_applies(task, why) && reduce_innermost(task, true, why);
}

static void space(const optune_task *task, optune_space *space)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t rows = r.count / reduce_row(&r);
    optune_space_ints(space, "sums", 7, (const int64_t[]){1, 4, 8, 16, 32, 64, 128});
    optune_space_ints(space, "rows", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "prefetch", 4, (const int64_t[]){0, 512, 1024, 4096});
    reduce_space_parts(task, &r, rows > 1 ? rows : reduce_row(&r), space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t sums = optune_config_int(config, "sums");
    const int64_t rows = optune_config_int(config, "rows");
    if (sums > 4 && sums > reduce_row(&r))
        return optune_refuse(why, "%" PRId64 " sums, a row has %" PRId64 " values", sums,
                             reduce_row(&r));
    if (rows > 1 && rows > r.outputs)
        return optune_refuse(why, "%" PRId64 " rows at once, there are %" PRId64, rows,
                             r.outputs);
    return rows * sums <= 16 * reduce_lanes(task) ||
           optune_refuse(why, "%" PRId64 " sums of %" PRId64 " rows are too many", sums, rows);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const reduce_loops r = reduce_loops_of(task->call);
    int64_t sums = 4 * reduce_lanes(task);
    while (sums > 4 && (sums > reduce_row(&r) || sums > 16 * reduce_lanes(task)))
        sums /= 2;
    optune_config_choose_int(config, space, "sums", sums);
    if (r.outputs < reduce_threads(task) && !r.lead)
        optune_config_choose_int(config, space, "parts", reduce_threads(task));
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t parts = optune_config_int(config, "parts");
    const int m = optune_plan_module(plan);
    reduce_define(plan, m, task->call, &r, parts);
    reduce_define_offset(plan, m, "KEPT_OFFSET", "k", r.n_kept, r.kept, r.kept_stride);
    reduce_define_offset(plan, m, "ROW_OFFSET", "r", r.n_reduced - 1, r.reduced,
                         r.reduced_stride);
    optune_plan_define(plan, m, "LENGTH", reduce_row(&r));
    optune_plan_define(plan, m, "LINES", r.count / reduce_row(&r));
    optune_plan_define(plan, m, "SUMS", optune_config_int(config, "sums"));
    optune_plan_define(plan, m, "ROWS", optune_config_int(config, "rows"));
    optune_plan_define(plan, m, "AHEAD", optune_config_int(config, "prefetch"));
    reduce_stages(plan, m, task->call, &r, parts);
}

OPTUNE_IMPL(reduce, inner) = {
    .name = "inner.cpu",
    .pattern = OPTUNE_REDUCTION,
    .summary = "vectors along a reduced innermost dim",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "*",
};
