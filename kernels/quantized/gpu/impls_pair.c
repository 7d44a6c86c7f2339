/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_add.gpu, quantized_multiply.gpu: 16 elements at once, divided only where a product
 * could round otherwise. */
#include "kernels/host/pattern_gpu.h"
#include "kernels/quantized/pair.h"

enum { VECTOR = 16 };

static float inverse_of(const optune_call *call)
{
    return 1 / (float)optune_call_attr(call, "scale")->f;
}

static bool applies(const optune_task *task, char *why)
{
    if (!optune_tensor_known(&task->call->output[0]))
        return optune_refuse(why, "needs constant shapes");
    return optune_call_int(task->call, "merged") || isnormal(inverse_of(task->call)) ||
           optune_refuse(why, "the reciprocal of its scale is no normal float");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "each", 3, (const int64_t[]){1, 2, 4});
}

static int64_t blocks_of(const optune_task *task, const optune_config *config)
{
    const int64_t vectors = host_ceil(optune_tensor_elements(&task->call->output[0]), VECTOR);
    return host_ceil(vectors,
                     optune_config_int(config, "threads") * optune_config_int(config, "each"));
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t each = optune_config_int(config, "each");
    return gpu_grid_fits(blocks_of(task, config), why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, 0, 24 + 8 * each, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t each = optune_config_int(config, "each");
    const double bytes = 3.0 * VECTOR * (double)(threads * each);
    const gpu_work w = {
        .blocks = blocks_of(task, config),
        .threads = threads,
        .registers = 24 + 8 * each,
        .instructions = 20 + 14.0 * VECTOR * (double)each,
        .bytes = bytes,
        .cached = bytes,
        .waits = 1,
    };
    return gpu_cost(task, &w);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    optune_config_choose_int(config, space, "threads", gpu_threads(task, 256));
    optune_config_choose_int(config, space, "each", 1);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int64_t n = optune_tensor_elements(&call->output[0]);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t each = optune_config_int(config, "each");
    const int m = optune_plan_module(plan);
    qpair_define(plan, m, call);
    optune_plan_define(plan, m, "A_SIGNED", call->input[0].type.dtype.code == OPTUNE_DTYPE_INT);
    optune_plan_define(plan, m, "B_SIGNED", call->input[1].type.dtype.code == OPTUNE_DTYPE_INT);
    optune_plan_define(plan, m, "ELEMENTS", n);
    optune_plan_define(plan, m, "THREADS", threads);
    optune_plan_define(plan, m, "EACH", each);
    optune_plan_define_text(plan, m, "INDEX", n > INT32_MAX / 2 ? "i64" : "int");
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "pair",
                                            .n_args = 3,
                                            .arg = {optune_input_arg(0), optune_input_arg(1),
                                                    optune_output_arg(0)},
                                            .grid = {blocks_of(task, config)},
                                            .block = {threads}});
}

#define PAIR(id)                                                                               \
    {                                                                                          \
        .op = id, .name = id ".gpu",                                                           \
        .summary = "16 elements at once, divided only where a product could round otherwise",  \
        .applies = applies, .space = space, .fallback = fallback, .valid = valid,              \
        .plan = plan, .estimate = estimate                                                     \
    }

OPTUNE_IMPLS(quantized_gpu, pair) = {PAIR("quantized_add"), PAIR("quantized_multiply"), {0}};
