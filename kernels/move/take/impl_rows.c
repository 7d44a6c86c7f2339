/* SPDX-License-Identifier: Apache-2.0 */
/* take_rows.cpu: slice by slice; each is one run of memory, and the next ones are fetched. */
#include "kernels/move/take/take.h"

static bool applies(const optune_task *task, char *why)
{
    return take_moves_bytes(task->call, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "ahead", 4, (const int64_t[]){0, 2, 8, 32});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const int64_t slices = optune_tensor_elements(&task->call->input[1].type);
    const int64_t ahead = optune_config_int(config, "ahead");
    return ahead == 0 || ahead < slices ||
           optune_refuse(why, "%" PRId64 " slices are all there are", slices);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const host_axis at = host_around(&call->input[0].type, take_axis(call));
    const int m = optune_plan_module(plan);
    char element[8];
    snprintf(element, sizeof element, "u%d", (int)host_max(call->output[0].dtype.bits, 8));
    optune_plan_define_text(plan, m, "ELEMENT", element);
    optune_plan_define_text(plan, m, "INDEX",
                            call->input[1].type.dtype.bits == 32 ? "i32" : "i64");
    optune_plan_define(plan, m, "OUTER", at.outer);
    optune_plan_define(plan, m, "N", at.n);
    optune_plan_define(plan, m, "INNER", at.inner);
    optune_plan_define(plan, m, "COUNT", optune_tensor_elements(&call->input[1].type));
    optune_plan_define(plan, m, "AHEAD", optune_config_int(config, "ahead"));
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "take",
                                            .n_args = 3,
                                            .arg = {optune_input_arg(0), optune_input_arg(1),
                                                    optune_output_arg(0)}});
}

OPTUNE_IMPL(move_take, rows) = {
    .op = "take",
    .name = "take_rows.cpu",
    .summary = "slice by slice, the next ones fetched ahead",
    .applies = applies,
    .space = space,
    .valid = valid,
    .plan = plan,
};
