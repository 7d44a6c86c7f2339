/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_outer.cpu: reductions whose innermost loop is kept. A tile of it is reduced at a time, in
 * registers when it is small, in the first-level cache when it is large and rows are read whole.
 */
#include "kernels/reduce/reduce.h"

static bool applies(const optune_task *task, char *why)
{
    return reduce_applies(task, why) && reduce_innermost(task, false, why);
}

static void space(const optune_task *task, optune_space *space)
{
    const reduce_loops r = reduce_loops_of(task->call);
    optune_space_ints(space, "tile", 10,
                      (const int64_t[]){1, 8, 16, 32, 64, 128, 256, 1024, 4096, 16384});
    optune_space_ints(space, "lines", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "prefetch", 3, (const int64_t[]){0, 1, 4});
    reduce_space_parts(task, &r, r.count, space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t tile = optune_config_int(config, "tile");
    const int64_t lines = optune_config_int(config, "lines");
    /* The large ones are cut to the row: read whole, one row is one stream. */
    const bool whole = tile >= 1024 && tile < 4 * reduce_row(&r);
    if (tile > 1 && tile > reduce_row(&r) && !whole)
        return optune_refuse(why, "a tile of %" PRId64 ", a row has %" PRId64 " values", tile,
                             reduce_row(&r));
    if (tile == 1 && reduce_row(&r) >= 8)
        return optune_refuse(why, "a tile of 1 is for rows below 8");
    return lines == 1 || lines <= r.count ||
           optune_refuse(why, "%" PRId64 " lines at once, there are %" PRId64, lines, r.count);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    /* Partial results in registers; rows that no cache holds are read whole. */
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t cache = task->device->l2 > 0 ? task->device->l2 : 512 << 10;
    const bool far =
        r.outputs * r.count * pattern_bytes(task->call->input[0].type.dtype) > cache;
    int64_t tile = far ? 16384 : 8 * reduce_lanes(task);
    while (tile > reduce_row(&r) && (tile < 1024 || tile >= 4 * reduce_row(&r)))
        tile /= tile > 256 ? 4 : 2;
    optune_config_choose_int(config, space, "tile", tile);
    optune_config_choose_int(config, space, "lines", r.count < 4 ? 1 : 4);
    if (r.outputs < reduce_threads(task) * tile && !r.lead)
        optune_config_choose_int(config, space, "parts", reduce_threads(task));
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const reduce_loops r = reduce_loops_of(task->call);
    const int64_t parts = optune_config_int(config, "parts");
    const int m = optune_plan_module(plan);
    reduce_define(plan, m, task->call, &r, parts);
    reduce_define_offset(plan, m, "KEPT_OFFSET", "k", r.n_kept ? r.n_kept - 1 : 0, r.kept,
                         r.kept_stride);
    reduce_define_offset(plan, m, "LINE_OFFSET", "r", r.n_reduced, r.reduced, r.reduced_stride);
    optune_plan_define(plan, m, "LENGTH", reduce_row(&r));
    const int64_t tile = optune_config_int(config, "tile");
    optune_plan_define(plan, m, "TILE", tile < reduce_row(&r) ? tile : reduce_row(&r));
    optune_plan_define(plan, m, "LINES", optune_config_int(config, "lines"));
    optune_plan_define(plan, m, "AHEAD", optune_config_int(config, "prefetch"));
    reduce_stages(plan, m, task->call, &r, parts);
}

OPTUNE_IMPL(reduce, outer) = {
    .name = "outer.cpu",
    .pattern = OPTUNE_REDUCTION,
    .summary = "tiles of a kept innermost dim",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "*",
};
