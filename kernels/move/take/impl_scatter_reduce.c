/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_reduce_loops.generic: any dtype, axis and dims. */
#include <string.h>

#include "kernels/host/generic.h"
#include "kernels/move/take/take.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const char *mode = optune_call_word(task->call, "mode");
    const int m = generic_module(task, plan, task->call->output[0].dtype);
    optune_plan_define(plan, m, "AXIS", take_axis(task->call));
    optune_plan_define(plan, m, "MODE",
                       !strcmp(mode, "multiply") ? 0
                       : strcmp(mode, "minimum") ? 2
                                                 : 1);
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(move_take, scatter_reduce) = GENERIC_ROW(
    "scatter_reduce", "neighbouring lines together: any dtype, dims known at run time", plan);
