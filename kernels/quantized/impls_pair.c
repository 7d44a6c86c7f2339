/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_add.cpu, quantized_multiply.cpu: vectors, one behind the other. */
#include "kernels/quantized/pair.h"

static bool applies(const optune_task *task, char *why)
{
    return optune_tensor_known(&task->call->output[0]) ||
           optune_refuse(why, "needs constant shapes");
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const optune_call *call = task->call;
    const int m = optune_plan_module(plan);
    const int64_t n = optune_tensor_elements(&call->output[0]);
    qpair_define(plan, m, call);
    qpair_define_float(plan, m, "FACTOR", qpair_factor(call));
    optune_plan_flag(plan, m, "-ffp-contract=off"); /* each product is rounded by itself */
    optune_plan_define_text(plan, m, "DTYPE", "int");
    optune_plan_define_text(plan, m, "A_T", quantized_c_type(call->input[0].type.dtype));
    optune_plan_define_text(plan, m, "B_T", quantized_c_type(call->input[1].type.dtype));
    optune_plan_define(plan, m, "ELEMENTS", n);
    optune_plan_define(plan, m, "SHARE", quantized_share(task, n));
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "pair",
                                            .n_args = 3,
                                            .arg = {optune_input_arg(0), optune_input_arg(1),
                                                    optune_output_arg(0)}});
}

#define PAIR(id)                                                                               \
    {                                                                                          \
        .op = id, .name = id ".cpu",                                                           \
        .summary = "vectors, divided only where a product could round otherwise",              \
        .applies = applies, .plan = plan                                                       \
    }

OPTUNE_IMPLS(quantized, pair) = {PAIR("quantized_add"), PAIR("quantized_multiply"), {0}};
