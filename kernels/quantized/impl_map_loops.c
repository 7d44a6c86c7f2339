/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_map_loops.generic: any dims. */
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    const bool sign = call->input[0].type.dtype.code == OPTUNE_DTYPE_INT;
    optune_plan_define(plan, m, "RANK", call->output[0].rank);
    optune_plan_define(plan, m, "LEAST", sign ? -128 : 0);
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(quantized, map_loops) = GENERIC_ROW("quantized_map", "one after the other", plan);
