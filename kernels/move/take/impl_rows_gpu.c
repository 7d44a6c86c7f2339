/* SPDX-License-Identifier: Apache-2.0 */
/* take_rows.gpu: threads side by side along a slice, or along all of the output where slices are no
 * whole number of warps. CUDA and OpenCL. */
#include "kernels/host/gpu_cost.h"
#include "kernels/host/pattern_gpu.h"
#include "kernels/move/take/take.h"

/* Slices of so many units of memory, each of `bytes`. */
typedef struct rows {
    host_axis at;
    int64_t count, slices, units, bytes;
} rows;

static rows rows_of(const optune_call *call)
{
    rows r = {.at = host_around(&call->input[0].type, take_axis(call)),
              .count = optune_tensor_elements(&call->input[1].type),
              .bytes = 16};
    const int64_t slice = r.at.inner * host_max(call->output[0].dtype.bits, 8) / 8;
    while (slice % r.bytes)
        r.bytes /= 2;
    r.units = slice / r.bytes;
    r.slices = r.at.outer * r.count;
    return r;
}

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    if (!take_moves_known(call, why))
        return false;
    const rows r = rows_of(call);
    return r.units <= INT32_MAX / 2 || optune_refuse(why, "slices of 2^30 units of memory");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "lanes", 9, (const int64_t[]){1, 2, 4, 8, 16, 32, 64, 128, 256});
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "flat", 2, (const int64_t[]){0, 1});
}

static int64_t blocks_of(const rows *r, const optune_config *config)
{
    const int64_t lanes = optune_config_int(config, "lanes");
    if (optune_config_int(config, "flat"))
        return host_ceil(r->slices * r->units, optune_config_int(config, "threads") *
                                                   optune_config_int(config, "each"));
    return host_ceil(r->slices, optune_config_int(config, "threads") / lanes) *
           host_ceil(r->units, lanes * optune_config_int(config, "each"));
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const rows r = rows_of(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t lanes = optune_config_int(config, "lanes");
    const int64_t each = optune_config_int(config, "each");
    if (optune_config_int(config, "flat")) {
        if (lanes > 1)
            return optune_refuse(why, "no threads belong to a slice");
        return gpu_grid_fits(blocks_of(&r, config), why) &&
               gpu_fits(task, (const int64_t[]){threads, 1, 1}, 0, 16 + each * r.bytes / 4, why);
    }
    if (lanes > threads)
        return optune_refuse(why, "more threads for a slice than in a block");
    if (lanes * each > 1 && lanes * each / 2 >= r.units)
        return optune_refuse(why, "half of what is moved at once lies outside a slice");
    if (threads > 64 && threads / lanes >= 2 * r.slices)
        return optune_refuse(why, "half of the threads have no slice");
    return gpu_grid_fits(blocks_of(&r, config), why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, 0, 16 + each * r.bytes / 4, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const rows r = rows_of(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t lanes = optune_config_int(config, "lanes");
    const int64_t each = optune_config_int(config, "each");
    const bool flat = optune_config_int(config, "flat");
    const int64_t run = host_min(flat ? 32 : lanes * each, r.units) * r.bytes;
    const double runs = flat ? (double)(threads * each * r.bytes) / (double)run
                             : (double)(threads / lanes);
    const gpu_work w = {
        .blocks = blocks_of(&r, config),
        .threads = threads,
        .registers = 16 + each * r.bytes / 4,
        .instructions = 40 + (flat ? 20 : 6) * (double)each,
        .bytes = 2 * gpu_sectors(runs, run),
        .waits = 2,
    };
    return gpu_cost(task, &w);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const rows r = rows_of(task->call);
    int64_t each = 4, lanes = 32, threads = gpu_threads(task, 128);
    /* Where more than an eighth of the lanes would lie outside of a slice, none belongs to one. */
    const bool flat = 8 * (host_ceil(r.units, 32) * 32 - r.units) > r.units;
    while (lanes > 1 && (flat || lanes / 2 >= r.units))
        lanes /= 2;
    while (each > 1 && (flat ? r.slices * r.units < each * threads * 8 * gpu_cores(task)
                             : lanes * each / 2 >= r.units))
        each /= 2;
    while (threads > 64 && !flat && threads / lanes >= 2 * r.slices)
        threads /= 2;
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "lanes", lanes);
    optune_config_choose_int(config, space, "each", each);
    optune_config_choose_int(config, space, "flat", flat);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const rows r = rows_of(call);
    const int64_t word = host_min(r.bytes, 4), threads = optune_config_int(config, "threads");
    const int m = optune_plan_module(plan);
    optune_plan_define_text(plan, m, "WORD",
                            word == 4   ? "u32"
                            : word == 2 ? "u16"
                                        : "unsigned char");
    optune_plan_define(plan, m, "WIDTH", r.bytes / word);
    optune_plan_define_text(plan, m, "INDEX",
                            call->input[1].type.dtype.bits == 32 ? "i32" : "i64");
    optune_plan_define_text(plan, m, "COUNTER",
                            r.slices * r.units > INT32_MAX / 2 ? "i64" : "u32");
    optune_plan_define(plan, m, "OUTER", r.at.outer);
    optune_plan_define(plan, m, "N", r.at.n);
    optune_plan_define(plan, m, "COUNT", r.count);
    optune_plan_define(plan, m, "SLICES", r.slices);
    optune_plan_define(plan, m, "UNITS", r.units);
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "LANES", optune_config_int(config, "lanes"));
    optune_plan_define(plan, m, "EACH", optune_config_int(config, "each"));
    optune_plan_define(plan, m, "FLAT", optune_config_int(config, "flat"));
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "take",
                                            .n_args = 3,
                                            .arg = {optune_input_arg(0), optune_input_arg(1),
                                                    optune_output_arg(0)},
                                            .grid = {blocks_of(&r, config)},
                                            .block = {threads}});
}

OPTUNE_IMPL(move_take, rows_gpu) = {
    .op = "take",
    .name = "take_rows.gpu",
    .summary = "threads side by side along a slice",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
