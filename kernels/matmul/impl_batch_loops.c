/* SPDX-License-Identifier: Apache-2.0 */
/* batch_matmul_loops.generic: any dtype, transposition and dims. */
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = generic_module(task, plan, call->output[0].dtype);
    optune_plan_define(plan, m, "TRANSPOSE_A", optune_call_int(call, "transpose_a"));
    optune_plan_define(plan, m, "TRANSPOSE_B", optune_call_int(call, "transpose_b"));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(matmul, batch_loops) = GENERIC_ROW("batch_matmul",
                                               "one sum after the other, in any dtype", plan);
