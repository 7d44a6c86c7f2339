/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_loops.generic: any floating dtype, axis and dims. */
#include "kernels/host/generic.h"
#include "kernels/softmax/softmax.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const optune_dtype dtype = call->input[0].type.dtype;
    const int m = generic_module(task, plan, dtype);
    pattern_define_scalar_as(plan, m, call, gpu_scalar_type(dtype));
    optune_plan_define(plan, m, "AXIS", softmax_axis(call));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(softmax, loops) = GENERIC_ROW("softmax",
                                          "one line after the other, in any floating dtype",
                                          plan);
