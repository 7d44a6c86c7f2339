/* SPDX-License-Identifier: Apache-2.0 */
/* compress_loops.generic: any dtype, axis and dims. */
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->input[0].type.dtype);
    optune_plan_define(plan, m, "AXIS",
                       optune_call_none(call, "axis") ? -1 : optune_call_int(call, "axis"));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(shaped, compress) = GENERIC_ROW("compress", "one pass over the condition", plan);
