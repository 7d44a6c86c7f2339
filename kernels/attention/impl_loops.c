/* SPDX-License-Identifier: Apache-2.0 */
/* attention_loops.generic: any floating dtype, mask and dims. */
#include "kernels/attention/attention.h"
#include "kernels/host/generic.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const optune_dtype dtype = call->input[ATTENTION_Q].type.dtype;
    const double scale = optune_call_attr(call, "scale")->f;
    const int m = generic_module(task, plan, dtype);
    char text[48] = "((SCALAR)1 / s_sqrt((SCALAR)q[3]))";
    if (scale != 0)
        snprintf(text, sizeof text, "((SCALAR)%.17g)", scale);
    optune_call unmasked = *call; /* the last input is what an expression is computed in */
    unmasked.n_inputs = ATTENTION_MASK;
    pattern_define_scalar_as(plan, m, &unmasked, gpu_scalar_type(dtype));
    optune_plan_define_text(plan, m, "SCALE", text);
    optune_plan_define(plan, m, "CAUSAL", optune_call_int(call, "causal"));
    optune_plan_define(plan, m, "ZEROS", !optune_call_int(call, "nan"));
    optune_plan_define(plan, m, "MASK_KEEPS",
                       call->n_inputs > ATTENTION_MASK &&
                           call->input[ATTENTION_MASK].type.dtype.code == OPTUNE_DTYPE_BOOL);
    generic_stage(task, plan, m);
}

OPTUNE_IMPL(attention, loops) = GENERIC_ROW("attention",
                                            "one query after the other, in any floating dtype",
                                            plan);
