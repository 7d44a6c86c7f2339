/* SPDX-License-Identifier: Apache-2.0 */
/* non_max_suppression_loops.generic: any floating dtype, any dims. */
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->input[0].type.dtype);
    const char *const name[] = {"IOU", "SCORE"};
    const char *const attr[] = {"iou_threshold", "score_threshold"};
    char number[64];
    optune_plan_define(plan, m, "MOST", optune_call_int(call, "max_output_size"));
    optune_plan_define(plan, m, "CENTRED", optune_call_int(call, "center_point_box"));
    for (int i = 0; i < 2; i++) {
        snprintf(number, sizeof number, "((ACC)%.17g)", optune_call_attr(call, attr[i])->f);
        optune_plan_define_text(plan, m, name[i], number);
    }
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(shaped, non_max_suppression) = GENERIC_ROW("non_max_suppression",
                                                       "one class after the other", plan);
