/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/order/generic.h declares. */
#include "kernels/order/generic.h"

void order_generic_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const optune_dtype dtype = call->input[0].type.dtype;
    const int m = generic_module(task, plan, dtype);
    const int64_t axis = optune_call_int(call, "axis");
    pattern_define_scalar_as(plan, m, call, gpu_scalar_type(dtype));
    optune_plan_define(plan, m, "AXIS", axis < 0 ? axis + call->input[0].type.rank : axis);
    optune_plan_define(plan, m, "K", order_k(call));
    optune_plan_define(plan, m, "DESCEND", !optune_call_int(call, "is_ascend"));
    optune_plan_define(plan, m, "VALUES", order_values(call) >= 0);
    optune_plan_define(plan, m, "INDICES", order_indices(call) >= 0);
    generic_stage(task, plan, m);
}
