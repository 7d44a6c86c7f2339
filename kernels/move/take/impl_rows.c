/* SPDX-License-Identifier: Apache-2.0 */
/* take_rows.cpu: slice by slice; each is one run of memory, and the next ones are fetched. */
#include "kernels/host/lead.h"
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
    const optune_tensor *indices = &task->call->input[1].type;
    const int64_t slices =
        optune_tensor_known(indices) ? optune_tensor_elements(indices) : INT64_MAX;
    const int64_t ahead = optune_config_int(config, "ahead");
    return ahead == 0 || ahead < slices ||
           optune_refuse(why, "%" PRId64 " slices are all there are", slices);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const optune_tensor *data = &call->input[0].type, *indices = &call->input[1].type;
    const int axis = take_axis(call), m = optune_plan_module(plan);
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .module = m,
        .function = "take",
        .n_args = 3,
        .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0)}};
    const struct {
        const char *macro;
        int input, from, to; /* dims */
    } product[] = {{"OUTER", 0, 0, axis},
                   {"N", 0, axis, axis + 1},
                   {"INNER", 0, axis + 1, data->rank},
                   {"COUNT", 1, 0, indices->rank}};
    char element[8];
    snprintf(element, sizeof element, "u%d", (int)host_max(call->output[0].dtype.bits, 8));
    optune_plan_define_text(plan, m, "ELEMENT", element);
    optune_plan_define_text(plan, m, "INDEX", indices->dtype.bits == 32 ? "i32" : "i64");
    for (size_t i = 0; i < sizeof product / sizeof *product; i++) {
        host_dims_define(plan, m, product[i].macro, call, product[i].input, product[i].from,
                         product[i].to, stage.n_args);
        host_dims_args(call, product[i].input, product[i].from, product[i].to, &stage);
    }
    optune_plan_define(plan, m, "AHEAD", optune_config_int(config, "ahead"));
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(move_take, rows) = {
    .op = "take",
    .name = "take_rows.cpu",
    .summary = "slice by slice, the next ones fetched ahead",
    .applies = applies,
    .space = space,
    .valid = valid,
    .plan = plan,
    .symbolic = "*",
};
