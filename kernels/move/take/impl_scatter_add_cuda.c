/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_add_atomic.cuda: data is copied, then all updates are added at once, in any order. */
#include "kernels/host/pattern_gpu.h"
#include "kernels/move/take/take.h"

/* What memory can add to. */
static const char *type_of(optune_dtype dtype)
{
    if (gpu_is_half(dtype))
        return dtype.code == OPTUNE_DTYPE_BFLOAT ? "bf16" : "f16";
    if (dtype.lanes > 1 || (dtype.bits != 32 && dtype.bits != 64))
        return NULL;
    if (pattern_is_real(dtype))
        return dtype.bits == 32 ? "f32" : "f64";
    return dtype.code == OPTUNE_DTYPE_INT ? dtype.bits == 32 ? "i32" : "i64" : NULL;
}

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_tensor_known(&call->input[i].type))
            return optune_refuse(why, "needs constant shapes");
    if (optune_tensor_elements(&call->output[0]) < 1)
        return optune_refuse(why, "there is nothing to add to");
    return gpu_is_cuda(task, 60, why) && (type_of(call->output[0].dtype) ||
                                         optune_refuse(why, "memory adds no such type"));
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
}

/* Blocks that copy, 16 bytes a thread and time, and blocks that add. */
static int64_t copying(const optune_task *task, const optune_config *config)
{
    const optune_tensor *out = &task->call->output[0];
    return host_ceil(optune_tensor_elements(out) * (out->dtype.bits / 8),
                     16 * optune_config_int(config, "threads") *
                         optune_config_int(config, "each"));
}

static int64_t adding(const optune_task *task, const optune_config *config)
{
    return host_ceil(optune_tensor_elements(&task->call->input[2].type),
                     optune_config_int(config, "threads") * optune_config_int(config, "each"));
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const int64_t threads = optune_config_int(config, "threads");
    return gpu_grid_fits(host_max(copying(task, config), adding(task, config)), why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, 0,
                    20 + 4 * optune_config_int(config, "each"), why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const optune_call *call = task->call;
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t each = optune_config_int(config, "each");
    const double index = call->input[1].type.dtype.bits / 8;
    const double elem = call->output[0].dtype.bits / 8;
    const gpu_work copy = {.blocks = host_max(copying(task, config), 1),
                           .threads = threads,
                           .registers = 16 + 4 * each,
                           .instructions = 20 + 6 * (double)each,
                           .bytes = 32 * (double)(threads * each),
                           .waits = 1};
    const gpu_work add = {.blocks = host_max(adding(task, config), 1),
                          .threads = threads,
                          .registers = 20 + 4 * each,
                          .instructions = 20 + 24 * (double)each,
                          .bytes = (double)(threads * each) * (index + 3 * elem),
                          .waits = 2};
    return gpu_cost(task, &copy) + gpu_cost(task, &add);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    optune_config_choose_int(config, space, "threads", gpu_threads(task, 256));
    optune_config_choose_int(config, space, "each",
                             optune_tensor_elements(&task->call->input[2].type) >
                                     (int64_t)8192 * gpu_cores(task)
                                 ? 4
                                 : 1);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int64_t threads = optune_config_int(config, "threads");
    const int axis = take_axis(call);
    const host_axis at = host_around(&call->input[0].type, axis);
    const int m = optune_plan_module(plan);
    optune_plan_define_text(plan, m, "TYPE", type_of(call->output[0].dtype));
    optune_plan_define_text(plan, m, "STORED", gpu_stored_type(call->output[0].dtype));
    optune_plan_define_text(plan, m, "SCALAR", gpu_scalar_type(call->output[0].dtype));
    optune_plan_define_text(plan, m, "VALUE_OF", gpu_scalar_of(call->output[0].dtype));
    optune_plan_define_text(plan, m, "PLACE",
                            call->input[1].type.dtype.bits == 32 ? "i32" : "i64");
    gpu_define_index(plan, m, call);
    optune_plan_define(plan, m, "ELEMENTS", optune_tensor_elements(&call->output[0]));
    optune_plan_define(plan, m, "UPDATES", optune_tensor_elements(&call->input[2].type));
    optune_plan_define(plan, m, "N", at.n);
    optune_plan_define(plan, m, "INNER", at.inner);
    optune_plan_define(plan, m, "COUNT", call->input[1].type.dim[axis].min);
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "EACH", optune_config_int(config, "each"));
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "copy",
                                            .n_args = 2,
                                            .arg = {optune_input_arg(0), optune_output_arg(0)},
                                            .grid = {copying(task, config)},
                                            .block = {threads}});
    if (adding(task, config))
        optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                                .module = m,
                                                .function = "add",
                                                .n_args = 3,
                                                .arg = {optune_input_arg(1),
                                                        optune_input_arg(2),
                                                        optune_output_arg(0)},
                                                .grid = {adding(task, config)},
                                                .block = {threads}});
}

OPTUNE_IMPL(move_take, scatter_add_cuda) = {
    .op = "scatter_add",
    .name = "scatter_add_atomic.cuda",
    .summary = "data is copied, then memory adds all updates at once",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
