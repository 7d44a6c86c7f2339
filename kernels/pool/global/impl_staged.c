/* SPDX-License-Identifier: Apache-2.0 */
/* global_avg_pool2d_staged.gpu: small planes of one channel, a run of them in shared memory. */
#include "kernels/pool/global/global_gpu.h"

static bool applies(const optune_task *task, char *why)
{
    const optune_dtype dtype = task->call->output[0].dtype;
    global_shape s;
    if (!global_shape_of(task->call, &s) || s.planes < 1 || s.pixels < 1 ||
        !optune_tensor_known(&task->call->input[0].type))
        return optune_refuse(why, "needs constant shapes, and something to average");
    if (!pattern_is_real(dtype) || !gpu_stored_type(dtype))
        return optune_refuse(why, "needs floats of 16 to 64 bits");
    if (s.block > 1)
        return optune_refuse(why, "is for planes of one channel");
    const staged_rows rows = global_staged(task);
    return staged_rows_apply(&rows, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    staged_rows_space(space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const staged_rows rows = global_staged(task);
    return staged_rows_valid(task, &rows, config, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const staged_rows rows = global_staged(task);
    return staged_rows_cost(task, &rows, config);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const staged_rows rows = global_staged(task);
    staged_rows_fallback(task, &rows, space, config);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const staged_rows rows = global_staged(task);
    const int m = optune_plan_module(plan);
    gpu_define_index(plan, m, task->call);
    gpu_define_scalar(plan, m, task->call);
    optune_plan_define_text(plan, m, "IN_T", gpu_stored_type(task->call->input[0].type.dtype));
    optune_plan_define(plan, m, "OUTPUTS", rows.rows);
    optune_plan_define(plan, m, "COUNT", rows.count);
    optune_stage stage = staged_rows_stage(plan, m, &rows, config);
    stage.phase = OPTUNE_TIMED;
    stage.module = m;
    stage.function = "means";
    stage.n_args = 2;
    stage.arg[0] = optune_input_arg(0);
    stage.arg[1] = optune_output_arg(0);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(pool_global, staged) = {
    .op = "global_avg_pool2d",
    .name = "global_avg_pool2d_staged.gpu",
    .summary = "runs of small planes in shared memory",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
