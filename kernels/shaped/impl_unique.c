/* SPDX-License-Identifier: Apache-2.0 */
/* unique_loops.generic: any dtype and length. */
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const optune_dtype dtype = call->input[0].type.dtype;
    const int m = generic_module(task, plan, dtype);
    optune_plan_define(plan, m, "REAL", pattern_is_real(dtype));
    optune_plan_define(plan, m, "SORTED", optune_call_int(call, "is_sorted"));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(shaped, unique) = GENERIC_ROW("unique", "a heap of indices in the output", plan);
