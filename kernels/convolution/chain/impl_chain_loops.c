/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise_depthwise_conv2d_loops.generic: any floating dtype, layout and dims. */
#include "kernels/convolution/chain/chain.h"
#include "kernels/host/generic_window.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const optune_dtype dtype = call->input[CHAIN_DATA].type.dtype;
    const int m = generic_module(task, plan, dtype);
    const int block = conv2d_out_block(call);
    pattern_define_scalar_as(plan, m, call, generic_scalar(dtype));
    generic_define_window(plan, m, call);
    generic_define_block(plan, m, "IN_BLOCK", optune_call_word(call, "data_layout"));
    optune_plan_define(plan, m, "OUT_BLOCK", block ? block : 1);
    optune_plan_define(plan, m, "BETWEEN", chain_between_of(call));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(convolution_chain,
            chain_loops) = GENERIC_ROW("pointwise_depthwise_conv2d",
                                       "each value in between again for each that needs it",
                                       plan);
