/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/scan/generic.h declares. */
#include "kernels/scan/generic.h"
#include "kernels/scan/scan.h"

void scan_generic_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    const bool flat = optune_call_none(call, "axis");
    const int64_t axis = flat ? 0 : optune_call_int(call, "axis");
    optune_plan_define(plan, m, "AXIS",
                       flat       ? -1
                       : axis < 0 ? axis + call->input[0].type.rank
                                  : axis);
    optune_plan_define(plan, m, "EXCLUSIVE", optune_call_int(call, "exclusive"));
    optune_plan_define(plan, m, "PRODUCT", scan_is_product(call));
    generic_stage(task, plan, m);
}
