/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_loops.generic: any elementwise or broadcast expression over any dtypes and dims. */
#include "kernels/host/generic.h"

static bool applies(const optune_task *task, char *why)
{
    if (task->call->n_inputs > OPTUNE_MAX_OPERANDS)
        return optune_refuse(why, "has more than %d operands", OPTUNE_MAX_OPERANDS);
    return generic_applies(task, why);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    generic_define_scalar(plan, m, call);
    optune_plan_define_text(plan, m, "EXPRESSION", call->op->scalar->text);
    for (int i = 0; i < call->n_inputs; i++)
        pattern_define_value(plan, m, call, i, gpu_scalar_type(call->input[i].type.dtype));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(elementwise, loops) = {
    .name = "loops.generic",
    .pattern = OPTUNE_BROADCAST,
    .summary = "element by element: any dtype, dims known at run time",
    .applies = applies,
    .plan = plan,
    .symbolic = "*",
    .generic = true,
};
