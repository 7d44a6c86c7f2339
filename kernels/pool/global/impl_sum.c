/* SPDX-License-Identifier: Apache-2.0 */
/*
 * global_avg_pool2d.cpu: sums of whole planes in vectors, `planes` of them at once so that their
 * final reductions overlap, `vectors` of each in flight.
 */
#include "kernels/pool/global/global_avg_pool2d.h"

static int64_t lanes_of(const optune_task *task, const global_shape *s)
{
    const int64_t elem = s->f64 ? 8 : 4, most = s->block > 1 ? s->block : s->pixels;
    int64_t bytes = task->device->vector_bytes >= 16 ? task->device->vector_bytes : 16;
    while (bytes > 16 && bytes / elem > most)
        bytes /= 2;
    return bytes / elem;
}

static bool applies(const optune_task *task, char *why)
{
    global_shape s;
    if (!global_shape_of(task->call, &s))
        return optune_refuse(why, "needs constant shapes");
    return tensor_is_float(&task->call->output[0]) ||
           optune_refuse(why, "needs float32 or float64");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "planes", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "vectors", 3, (const int64_t[]){1, 2, 4});
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const int registers =
        task->device->vector_registers >= 16 ? task->device->vector_registers : 16;
    optune_config_choose_int(config, space, "planes", registers - 4);
    optune_config_choose_int(config, space, "vectors", 1);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const int64_t n =
        optune_config_int(config, "planes") * optune_config_int(config, "vectors");
    const int registers =
        task->device->vector_registers >= 16 ? task->device->vector_registers : 16;
    return n + 4 <= registers ||
           optune_refuse(why, "%ld accumulators do not fit into registers", (long)n);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    global_shape s;
    global_shape_of(task->call, &s);
    const int m = optune_plan_module(plan);
    optune_plan_define(plan, m, "PLANES", s.planes);
    optune_plan_define(plan, m, "PIXELS", s.pixels);
    optune_plan_define(plan, m, "BLOCK", s.block);
    optune_plan_define(plan, m, "TILE", optune_config_int(config, "planes"));
    optune_plan_define(plan, m, "VECS", optune_config_int(config, "vectors"));
    optune_plan_define(plan, m, "VEC_BYTES", lanes_of(task, &s) * (s.f64 ? 8 : 4));
    optune_plan_define_text(plan, m, "DTYPE", s.f64 ? "double" : "float");
    optune_plan_stage(plan,
                      &(optune_stage){.phase = OPTUNE_TIMED,
                                      .module = m,
                                      .function = "means",
                                      .n_args = 2,
                                      .arg = {optune_input_arg(0), optune_output_arg(0)}});
    if (!optune_dim_known(&task->call->input[0].type.dim[0]))
        optune_plan_repeat(plan, 0, 1);
}

OPTUNE_IMPL(pool_global, sum) = {
    .op = "global_avg_pool2d",
    .name = "global_avg_pool2d.cpu",
    .summary = "sums of several planes at once",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
};
