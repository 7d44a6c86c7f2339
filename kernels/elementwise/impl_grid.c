/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_grid.gpu: any elementwise or broadcast expression, a thread for some vectors of the output,
 * whose dims are joined as far as the operands allow.
 */
#include "kernels/elementwise/broadcast.h"
#include "kernels/host/pattern_gpu.h"

static bool applies(const optune_task *task, char *why)
{
    return gpu_applies(task, why) && broadcast_operands_fit(task->call, why);
}

static optune_dtype dtype_of(const optune_call *call, int t)
{
    return t < call->n_inputs ? call->input[t].type.dtype : call->output[0].dtype;
}

/* The longest vector that no operand breaks: along the innermost loop, aligned in all the others,
 * and 16 bytes at most of any tensor. */
static int64_t longest(const optune_call *call, const pattern_loops *l)
{
    int64_t v = 16;
    for (int t = 0; t < l->tensors; t++) {
        if (l->stride[t][l->rank - 1] == 0)
            continue;
        v = host_min(v, 16 / pattern_bytes(dtype_of(call, t)));
        for (int d = 0; d < l->rank - 1; d++)
            while (l->stride[t][d] % v != 0)
                v /= 2;
    }
    while (l->extent[l->rank - 1] % v != 0)
        v /= 2;
    return v;
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "vector", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
}

static int64_t blocks_of(const optune_call *call, const optune_config *config)
{
    return host_ceil(optune_tensor_elements(&call->output[0]),
                     optune_config_int(config, "threads") *
                         optune_config_int(config, "vector") *
                         optune_config_int(config, "each"));
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const pattern_loops l = broadcast_loops(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t vector = optune_config_int(config, "vector");
    const int64_t each = optune_config_int(config, "each");
    if (vector > longest(task->call, &l))
        return optune_refuse(why, "vectors of %" PRId64 ", the operands allow %" PRId64, vector,
                             longest(task->call, &l));
    if (vector * each > 32)
        return optune_refuse(why, "%" PRId64 " elements in a thread are too many",
                             vector * each);
    if (!gpu_grid_fits(blocks_of(task->call, config), why))
        return false;
    return gpu_fits(task, (const int64_t[]){threads, 1, 1}, 0, 16 + vector * each, why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const pattern_loops l = broadcast_loops(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t vector = optune_config_int(config, "vector");
    const int64_t each = optune_config_int(config, "each");
    const double elements = (double)(threads * vector * each);
    double bytes = 0, cached = 0;
    for (int t = 0; t < l.tensors; t++) {
        const double all = elements * (double)pattern_bytes(dtype_of(task->call, t));
        bool whole = true; /* no dim is broadcast, else most of it is in the cache */
        for (int d = 0; d < l.rank; d++)
            whole = whole && (l.stride[t][d] != 0 || l.extent[d] == 1);
        bytes += whole ? all : 0;
        cached += l.stride[t][l.rank - 1] ? all : 0;
    }
    const double vectors = (double)each, index = 5 * (double)(l.rank - 1) + 3;
    const gpu_work w = {
        .blocks = blocks_of(task->call, config),
        .threads = threads,
        .registers = 20 + vector * each,
        .instructions = vectors * ((double)l.tensors * index + 4 * (double)vector + 8) + 10,
        .bytes = bytes,
        .cached = cached,
        .waits = 1 + vectors / 16,
    };
    return gpu_cost(task, &w);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const pattern_loops l = broadcast_loops(task->call);
    const int64_t vector = longest(task->call, &l), threads = gpu_threads(task, 256);
    const int64_t waves =
        optune_tensor_elements(&task->call->output[0]) / (vector * threads * gpu_cores(task));
    optune_config_choose_int(config, space, "threads", threads);
    optune_config_choose_int(config, space, "vector", vector);
    optune_config_choose_int(config, space, "each", waves >= 64 && vector <= 8 ? 4 : 1);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const pattern_loops l = broadcast_loops(call);
    const int m = optune_plan_module(plan);
    char name[32];
    gpu_define_scalar(plan, m, call);
    gpu_define_index(plan, m, call);
    optune_plan_define_text(plan, m, "EXPRESSION", call->op->scalar->text);
    optune_plan_define(plan, m, "OPERANDS", call->n_inputs);
    for (int t = 0; t < call->n_inputs; t++) {
        snprintf(name, sizeof(name), "X%d_T", t);
        optune_plan_define_text(plan, m, name, gpu_stored_type(dtype_of(call, t)));
        snprintf(name, sizeof(name), "X%d_OF", t);
        optune_plan_define_text(plan, m, name, gpu_scalar_of(dtype_of(call, t)));
        pattern_define_value(plan, m, call, t, gpu_scalar_type(dtype_of(call, t)));
        snprintf(name, sizeof(name), "X%d_INNER", t);
        optune_plan_define(plan, m, name, l.stride[t][l.rank - 1]);
        snprintf(name, sizeof(name), "X%d_OFFSET", t);
        gpu_define_offset(plan, m, name, "i", l.rank, l.extent, l.stride[t], 0);
    }
    optune_plan_define(plan, m, "ELEMENTS", optune_tensor_elements(&call->output[0]));
    optune_plan_define(plan, m, "THREADS", optune_config_int(config, "threads"));
    optune_plan_define(plan, m, "V", optune_config_int(config, "vector"));
    optune_plan_define(plan, m, "EACH", optune_config_int(config, "each"));
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "broadcast",
                          .grid = {blocks_of(call, config)},
                          .block = {optune_config_int(config, "threads")}};
    stage.arg[stage.n_args++] = optune_output_arg(0);
    for (int i = 0; i < call->n_inputs; i++)
        stage.arg[stage.n_args++] = optune_input_arg(i);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(elementwise, grid) = {
    .name = "grid.gpu",
    .pattern = OPTUNE_BROADCAST,
    .summary = "a thread for some vectors of the output",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
