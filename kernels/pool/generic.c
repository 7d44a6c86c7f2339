/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/pool/generic.h declares. */
#include "kernels/pool/generic.h"

void pool_generic_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const optune_dtype dtype = call->output[0].dtype;
    const int64_t *size = optune_call_ints(call, "pool_size");
    const int m = generic_module(task, plan, dtype);
    const bool mean = pool_is_mean(call);
    generic_define_window(plan, m, call);
    generic_define_block(plan, m, "BLOCK", optune_call_word(call, "layout"));
    optune_plan_define(plan, m, "KH", size[0]);
    optune_plan_define(plan, m, "KW", size[1]);
    optune_plan_define(plan, m, "CEIL_MODE", optune_call_int(call, "ceil_mode"));
    optune_plan_define(plan, m, "POOL_MEAN", mean);
    optune_plan_define(plan, m, "COUNT_PAD",
                       mean && optune_call_int(call, "count_include_pad"));
    optune_plan_define(plan, m, "ACC_REAL", pattern_is_real(dtype));
    if (!pattern_is_real(dtype))
        pattern_define_extremes(plan, m, dtype);
    generic_stage(task, plan, m);
}
