/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_add_loops.generic, quantized_multiply_loops.generic: any dims. */
#include "kernels/host/generic.h"
#include "kernels/quantized/pair.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const int m = generic_module(task, plan, task->call->output[0].dtype);
    optune_plan_define(plan, m, "RANK", task->call->output[0].rank);
    qpair_define(plan, m, task->call);
    generic_stage(task, plan, m);
}

OPTUNE_IMPLS(quantized, pair_loops) = {
    GENERIC_ROW("quantized_add", "one sum after the other", plan),
    GENERIC_ROW("quantized_multiply", "one product after the other", plan),
    {0},
};
