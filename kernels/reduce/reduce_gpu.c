/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/reduce/reduce_gpu.h declares. */
#include "kernels/reduce/reduce_gpu.h"

enum { REDUCE_JOINING = 256 }; /* threads of a block that joins parts */

int64_t reduce_vector(const reduce_loops *r, int64_t row, int64_t most)
{
    int64_t v = most;
    while (row % v != 0)
        v /= 2;
    for (int d = 0; d < r->n_kept; d++)
        while (r->kept_stride[d] > 1 && r->kept_stride[d] % v != 0)
            v /= 2;
    for (int d = 0; d < r->n_reduced; d++)
        while (r->reduced_stride[d] > 1 && r->reduced_stride[d] % v != 0)
            v /= 2;
    return v;
}

void reduce_gpu_define(optune_plan *plan, int m, const optune_call *call, const reduce_loops *r,
                       int64_t parts)
{
    gpu_define_scalar(plan, m, call);
    gpu_define_index(plan, m, call);
    reduce_define_as(plan, m, call, r, parts, gpu_stored_type(call->input[0].type.dtype));
}

/* Threads that join the parts of one output. */
static int64_t reduce_team(const optune_task *task, const reduce_loops *r, int64_t parts)
{
    return r->outputs >= 1024 ? 1 : host_min(gpu_power2(parts), gpu_threads(task, 256));
}

void reduce_gpu_stages(const optune_task *task, optune_plan *plan, int m, const reduce_loops *r,
                       int64_t parts, optune_stage first)
{
    const optune_call *call = task->call;
    const int64_t team = reduce_team(task, r, parts),
                  joining = gpu_threads(task, REDUCE_JOINING);
    const int64_t bytes = reduce_held(call);
    optune_arg to = optune_output_arg(0);
    if (parts > 1)
        to = optune_scratch_arg(
            optune_plan_scratch(plan, "parts", parts * r->outputs * bytes, false));
    optune_plan_define(plan, m, "JOINING", joining);
    optune_plan_define(plan, m, "TEAM", team);
    first.phase = OPTUNE_TIMED;
    first.module = m;
    first.function = "reduce";
    first.n_args = 2;
    first.arg[0] = optune_input_arg(0);
    first.arg[1] = to;
    optune_plan_stage(plan, &first);
    if (parts > 1)
        optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                                .module = m,
                                                .function = "join",
                                                .n_args = 2,
                                                .arg = {to, optune_output_arg(0)},
                                                .grid = {host_ceil(r->outputs, joining / team)},
                                                .block = {joining},
                                                .shared = joining * bytes});
}

double reduce_gpu_cost(const optune_task *task, const reduce_loops *r, int64_t parts,
                       gpu_work first, int64_t run)
{
    const int64_t team = reduce_team(task, r, parts), bytes = reduce_bytes(task->call);
    const int64_t joining = gpu_threads(task, REDUCE_JOINING);
    const double all = (double)r->outputs * (double)r->count * (double)bytes;
    first.bytes = gpu_sectors(all / (double)run, run) / (double)first.blocks;
    const double each = (double)host_ceil(parts, team); /* of a thread that joins */
    const gpu_work join = {
        .blocks = host_ceil(r->outputs, joining / team),
        .threads = joining,
        .instructions = 20 + 8 * each + 6 * (double)gpu_log2(team),
        .bytes = (double)(joining / team * (parts + 1) * reduce_held(task->call)),
        .waits = 1 + each / 4,
        .barriers = (double)gpu_log2(team),
    };
    return gpu_cost(task, &first) + (parts > 1 ? gpu_cost(task, &join) : 0);
}

int64_t reduce_parts(const optune_task *task, const reduce_loops *r, int64_t blocks,
                     int64_t least)
{
    int64_t parts = 1;
    while (parts < 256 && blocks * parts < 2 * gpu_cores(task) &&
           r->count / (2 * parts) >= least)
        parts *= 2;
    return parts;
}

staged_rows reduce_staged(const optune_task *task)
{
    const reduce_loops r = reduce_loops_of(task->call);
    return (staged_rows){.rows = r.outputs,
                         .count = r.count,
                         .bytes = reduce_bytes(task->call),
                         .held = reduce_held(task->call)};
}

bool reduce_parts_fit(const reduce_loops *r, int64_t parts, int64_t least, char *why)
{
    return parts == 1 || r->count / parts >= least ||
           optune_refuse(why, "%" PRId64 " parts, there are %" PRId64 " values", parts,
                         r->count);
}
