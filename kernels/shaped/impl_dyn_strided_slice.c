/* SPDX-License-Identifier: Apache-2.0 */
/* dyn_strided_slice_loops.generic: any dtype and dims. */
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    generic_stage(task, plan, generic_module(task, plan, task->call->input[0].type.dtype));
}

OPTUNE_IMPL(shaped, dyn_strided_slice) = GENERIC_ROW("dyn_strided_slice",
                                                     "each element by itself", plan);
