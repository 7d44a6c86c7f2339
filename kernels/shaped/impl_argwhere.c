/* SPDX-License-Identifier: Apache-2.0 */
/* argwhere_loops.generic: any dtype, rank and dims. */
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    generic_stage(task, plan, generic_module(task, plan, task->call->input[0].type.dtype));
}

OPTUNE_IMPL(shaped, argwhere) = GENERIC_ROW("argwhere", "one pass over the elements", plan);
