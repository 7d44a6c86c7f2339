/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_add_loops.generic: any dtype, axis and dims. */
#include "kernels/host/generic.h"
#include "kernels/move/take/take.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const int m = generic_module(task, plan, task->call->output[0].dtype);
    optune_plan_define(plan, m, "AXIS", take_axis(task->call));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(move_take, scatter_add) = GENERIC_ROW(
    "scatter_add", "neighbouring lines together: any dtype, dims known at run time", plan);
