/* SPDX-License-Identifier: Apache-2.0 */
/* roi_align_loops.generic: any floating dtype, any dims. */
#include <stdio.h>

#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    char scale[64];
    snprintf(scale, sizeof scale, "((ACC)%.17g)", optune_call_attr(call, "spatial_scale")->f);
    optune_plan_define_text(plan, m, "SCALE", scale);
    optune_plan_define(plan, m, "PLACES", optune_call_int(call, "sample_ratio"));
    optune_plan_define(plan, m, "HALF", optune_call_int(call, "half_pixel"));
    optune_plan_define(plan, m, "MOST", *optune_call_word(call, "mode") == 'm');
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(sample, roi_align) = GENERIC_ROW("roi_align",
                                             "one bin after the other, all channels", plan);
