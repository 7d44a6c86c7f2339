/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sample_loops.generic: any floating dtype, any dims. */
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const char how = *optune_call_word(call, "method");
    const char mode = *optune_call_word(call, "padding_mode");
    const int m = generic_module(task, plan, call->output[0].dtype);
    optune_plan_define(plan, m, "AXES", call->input[0].type.rank - 2);
    optune_plan_define(plan, m, "TAPS", how == 'n' ? 1 : how == 'l' ? 2 : 4);
    optune_plan_define(plan, m, "ZEROS", mode == 'z');
    optune_plan_define(plan, m, "BORDER", mode == 'b');
    optune_plan_define(plan, m, "CORNERS", optune_call_int(call, "align_corners"));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(sample, grid_sample) = GENERIC_ROW("grid_sample",
                                               "one place after the other, all channels", plan);
