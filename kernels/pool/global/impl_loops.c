/* SPDX-License-Identifier: Apache-2.0 */
/* global_avg_pool2d_loops.generic: any dtype, layout and dims. */
#include "kernels/host/generic_window.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const int m = generic_module(task, plan, task->call->output[0].dtype);
    generic_define_block(plan, m, "BLOCK", optune_call_word(task->call, "layout"));
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(pool_global, loops) = GENERIC_ROW("global_avg_pool2d",
                                              "one channel after the other, in any dtype",
                                              plan);
