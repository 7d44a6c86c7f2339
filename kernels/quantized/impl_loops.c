/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_conv2d_loops.generic: any dims. */
#include "kernels/host/generic_window.h"
#include "kernels/quantized/quantized.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    const quantized_end e = quantized_end_of(call, "out_zero");
    generic_define_window(plan, m, call);
    optune_plan_define(plan, m, "GROUPS", optune_call_int(call, "groups"));
    optune_plan_define(plan, m, "X_ZERO", optune_call_int(call, "zero"));
    optune_plan_define(plan, m, "OUT_ZERO", e.zero);
    optune_plan_define(plan, m, "OUT_LEAST", e.least);
    optune_plan_define(plan, m, "OUT_MOST", e.most);
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(quantized, loops) = GENERIC_ROW("quantized_conv2d", "one sum after the other",
                                            plan);
