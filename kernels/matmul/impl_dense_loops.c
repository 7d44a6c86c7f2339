/* SPDX-License-Identifier: Apache-2.0 */
/* dense_loops.generic: any dtype and dims. */
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const int m = generic_module(task, plan, task->call->output[0].dtype);
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(matmul, dense_loops) = GENERIC_ROW("dense", "one sum after the other, in any dtype",
                                               plan);
