/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_loops.generic: any dtype, layout and dims. */
#include "kernels/convolution/conv2d.h"
#include "kernels/host/generic_window.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    const int block = conv2d_out_block(call);
    generic_define_window(plan, m, call);
    generic_define_block(plan, m, "IN_BLOCK", optune_call_word(call, "data_layout"));
    optune_plan_define(plan, m, "OUT_BLOCK", block ? block : 1);
    optune_plan_define(plan, m, "GROUPS", optune_call_int(call, "groups"));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(convolution,
            loops) = GENERIC_ROW("conv2d", "one sum after the other, in any dtype and layout",
                                 plan);
