/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_lines.cpu: gather and scatter_add over neighbouring lines at a time, a task each. */
#include "kernels/move/take/take.h"

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_tensor_known(&call->input[i].type))
            return optune_refuse(why, "needs constant shapes");
    return host_computes(call->output[0].dtype) ||
           optune_refuse(why, "moves float32, float64, int32 and int64");
}

static void space(const optune_task *task, optune_space *space)
{
    const optune_tensor *data = &task->call->input[0].type;
    const host_axis at = host_around(data, take_axis(task->call));
    int64_t width[16];
    int n = 0;
    for (int64_t w = 1; w < at.inner && n < 15; w *= 4)
        width[n++] = w;
    width[n++] = host_max(at.inner, 1);
    optune_space_ints(space, "width", n, width);
}

/* As many lines as a cache line has, or more, as long as each thread gets a task. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const optune_call *call = task->call;
    const host_axis at = host_around(&call->input[0].type, take_axis(call));
    const int64_t line = 64 * 8 / call->output[0].dtype.bits;
    const int64_t lines = at.outer * at.inner / host_threads(task);
    optune_config_choose_int(config, space, "width", host_max(lines, line));
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const bool adds = call->n_inputs == 3;
    const int axis = take_axis(call);
    const host_axis at = host_around(&call->input[0].type, axis);
    const int m = optune_plan_module(plan);
    optune_plan_define_text(plan, m, "ELEMENT", host_c_type(call->output[0].dtype));
    optune_plan_define_text(plan, m, "INDEX", host_c_type(call->input[1].type.dtype));
    optune_plan_define(plan, m, "ADDS", adds);
    optune_plan_define(plan, m, "OUTER", at.outer);
    optune_plan_define(plan, m, "N", at.n);
    optune_plan_define(plan, m, "INNER", at.inner);
    optune_plan_define(plan, m, "COUNT", call->input[1].type.dim[axis].min);
    optune_plan_define(plan, m, "WIDTH", optune_config_int(config, "width"));
    optune_plan_flag(plan, m, "-fwrapv");
    optune_stage stage = {.phase = OPTUNE_TIMED, .module = m, .function = "lines"};
    for (int i = 0; i < call->n_inputs; i++)
        stage.arg[stage.n_args++] = optune_input_arg(i);
    stage.arg[stage.n_args++] = optune_output_arg(0);
    optune_plan_stage(plan, &stage);
}

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .name = op_ "_lines.cpu", .summary = "neighbouring lines together",         \
        .applies = applies, .space = space, .fallback = fallback, .plan = plan                 \
    }

OPTUNE_IMPLS(move_take, lines) = {ROW("gather"), ROW("scatter_add"), {0}};
