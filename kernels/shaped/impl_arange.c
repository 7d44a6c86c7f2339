/* SPDX-License-Identifier: Apache-2.0 */
/* arange_loops.generic: any dtype. */
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const optune_dtype dtype = call->input[0].type.dtype;
    const int m = generic_module(task, plan, dtype);
    optune_plan_define(plan, m, "LIMIT", optune_call_int(call, "limit"));
    optune_plan_define(plan, m, "REAL", pattern_is_real(dtype));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(shaped, arange) = GENERIC_ROW("arange", "each number by itself", plan);
