/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_map.cpu: vectors, by shuffles of the table's rows of 16. */
#include "kernels/quantized/quantized.h"

static bool applies(const optune_task *task, char *why)
{
    return optune_tensor_known(&task->call->output[0]) ||
           optune_refuse(why, "needs constant shapes");
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const int m = optune_plan_module(plan);
    const int64_t n = optune_tensor_elements(&task->call->output[0]);
    optune_plan_define_text(plan, m, "DTYPE", "int");
    optune_plan_define(plan, m, "X_SIGNED",
                       task->call->input[0].type.dtype.code == OPTUNE_DTYPE_INT);
    optune_plan_define(plan, m, "ELEMENTS", n);
    optune_plan_define(plan, m, "SHARE", quantized_share(task, n));
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "map",
                                            .n_args = 3,
                                            .arg = {optune_input_arg(0), optune_input_arg(1),
                                                    optune_output_arg(0)}});
}

OPTUNE_IMPL(quantized, map) = {
    .op = "quantized_map",
    .name = "quantized_map.cpu",
    .summary = "vectors, by shuffles of the table's rows",
    .applies = applies,
    .plan = plan,
};
