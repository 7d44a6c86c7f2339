/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_backward_weight_loops.generic: any dtype and dims. */
#include "kernels/host/generic_window.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    const int64_t *kernel = optune_call_ints(call, "kernel_size");
    generic_define_window(plan, m, call);
    optune_plan_define(plan, m, "KH", kernel[0]);
    optune_plan_define(plan, m, "KW", kernel[1]);
    optune_plan_define(plan, m, "GROUPS", optune_call_int(call, "groups"));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(convolution_gradient,
            weight_loops) = GENERIC_ROW("conv2d_backward_weight",
                                        "one sum after the other, in any dtype", plan);
