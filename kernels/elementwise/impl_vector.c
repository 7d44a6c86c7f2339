/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_vector.cpu: any elementwise or broadcast expression, some vectors at a time along the
 * innermost dim of the output, whose other dims are joined as far as the operands allow.
 */
#include "kernels/elementwise/broadcast.h"

static int64_t lanes(const optune_task *task)
{
    const optune_call *call = task->call;
    const int64_t bytes = task->device->vector_bytes > 0 ? task->device->vector_bytes : 16;
    return bytes / pattern_bytes(call->input[call->n_inputs - 1].type.dtype);
}

static int64_t most_bytes(const optune_tensor *type)
{
    int64_t n = pattern_bytes(type->dtype);
    for (int d = 0; d < type->rank; d++)
        n *= host_dim_most(&type->dim[d]);
    return n;
}

static int64_t bytes_of(const optune_task *task)
{
    int64_t bytes = most_bytes(&task->call->output[0]);
    for (int i = 0; i < task->call->n_inputs; i++)
        bytes += most_bytes(&task->call->input[i].type);
    return bytes;
}

/* The loops of a call that applies. */
static void open_of(const optune_call *call, broadcast_open *open)
{
    if (!optune_tensor_known(&call->output[0])) {
        broadcast_open_of(call, open, NULL);
        return;
    }
    *open = (broadcast_open){.loops = broadcast_loops(call)};
    const pattern_loops *l = &open->loops;
    for (int d = 0; d < l->rank; d++) {
        open->extent[d].constant = l->extent[d];
        for (int t = 0; t < l->tensors; t++)
            open->stride[t][d].constant = l->stride[t][d];
    }
    open->inner_from = call->output[0].rank;
    for (int64_t n = 1; n < l->extent[l->rank - 1] && open->inner_from > 0;)
        n *= call->output[0].dim[--open->inner_from].min;
}

static pattern_loops loops_of(const optune_task *task)
{
    broadcast_open open;
    open_of(task->call, &open);
    return open.loops;
}

static bool applies(const optune_task *task, char *why)
{
    broadcast_open open;
    if (optune_tensor_known(&task->call->output[0]))
        return broadcast_applies(task, why);
    if (task->call->n_inputs > OPTUNE_MAX_OPERANDS)
        return optune_refuse(why, "has more than %d operands", OPTUNE_MAX_OPERANDS);
    return broadcast_open_of(task->call, &open, why) && pattern_computes(task, why);
}

static int threads(const optune_task *task)
{
    return task->device->threads > 1 ? task->device->threads : 1;
}

static void space(const optune_task *task, optune_space *space)
{
    optune_space_ints(space, "vectors", 5, (const int64_t[]){1, 2, 4, 8, 16});
    optune_space_words(space, "store", 2, (const char *const[]){"plain", "stream"});
    optune_space_ints(space, "prefetch", 5, (const int64_t[]){0, 512, 1024, 2048, 4096});
    /* Elements of one task: what threads share the work by. */
    optune_space_ints(space, "task", threads(task) > 1 ? 4 : 1,
                      (const int64_t[]){1 << 16, 1 << 14, 1 << 12, 1 << 18});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const int64_t block = lanes(task) * optune_config_int(config, "vectors");
    const pattern_loops l = loops_of(task);
    const int64_t inner = l.extent[l.rank - 1];
    const int64_t bytes = block * pattern_bytes(task->call->output[0].dtype);
    if (block > lanes(task) && block > inner)
        return optune_refuse(why, "%" PRId64 " elements at a time, a row has %" PRId64, block,
                             inner);
    if (strcmp(optune_config_word(config, "store"), "stream") != 0)
        return true;
    if (bytes % 64 != 0)
        return optune_refuse(why, "%" PRId64 " bytes at a time are no whole cache lines",
                             bytes);
    /* A row that is shorter than a few lines is all head and tail. */
    return inner * pattern_bytes(task->call->output[0].dtype) >= 512 ||
           optune_refuse(why, "rows of %" PRId64 " elements are too short to stream", inner);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const pattern_loops l = loops_of(task);
    const int64_t inner = l.extent[l.rank - 1], cache = task->device->l3;
    const int64_t size = pattern_bytes(task->call->output[0].dtype);
    int64_t vectors = 4;
    while (vectors > 1 && vectors * lanes(task) > inner)
        vectors /= 2;
    optune_config_choose_int(config, space, "vectors", vectors);
    optune_config_choose_int(config, space, "task", 1 << 16);
    if (bytes_of(task) > (cache > 0 ? cache : 4 << 20) && inner * size >= 512 &&
        vectors * lanes(task) * size % 64 == 0)
        optune_config_choose_word(config, space, "store", "stream");
}

/* The three innermost loops have names; what is outside of them is found by its number. */
static void define_loops(optune_plan *plan, int m, const optune_call *call,
                         const broadcast_open *open, int64_t task)
{
    static const char tensor[PATTERN_TENSORS][3] = {"X0", "X1", "X2", "X3", "O"};
    const pattern_loops *l = &open->loops;
    const broadcast_extent one = {1, 0}, zero = {0, 0};
    char name[32];
    const int inner = l->rank - 1, middle = l->rank - 2, dims = 1 + call->n_inputs;
    const int64_t n = l->extent[inner], rows = middle >= 0 ? l->extent[middle] : 1;
    const int64_t chunk = n > task ? task : n;
    int64_t most = chunk == n && n > 0 ? task / n : 1;
    most = most < 1 ? 1 : most > rows ? rows : most;
    broadcast_open_define(plan, m, "INNER", call, open->extent[inner], dims);
    optune_plan_define(plan, m, "CHUNK", chunk);
    broadcast_open_define(plan, m, "ROWS", call, middle >= 0 ? open->extent[middle] : one,
                          dims);
    optune_plan_define(plan, m, "ROWS_AT_ONCE", most);
    optune_plan_define(plan, m, "OUTER_LOOPS", middle > 0 ? middle : 0);
    broadcast_extent outer = one;
    for (int d = 0; d < middle; d++) {
        outer.constant *= open->extent[d].constant;
        outer.open |= open->extent[d].open;
        snprintf(name, sizeof name, "OUTER%d", d);
        broadcast_open_define(plan, m, name, call, open->extent[d], dims);
    }
    broadcast_open_define(plan, m, "OUTER", call, outer, dims);
    for (int t = 0; t < l->tensors; t++) {
        const char *of = t == l->tensors - 1 ? "O" : tensor[t];
        snprintf(name, sizeof name, "%s_INNER", of);
        optune_plan_define(plan, m, name, l->stride[t][inner]);
        snprintf(name, sizeof name, "%s_ROW", of);
        broadcast_open_define(plan, m, name, call, middle >= 0 ? open->stride[t][middle] : zero,
                              dims);
        for (int d = 0; d < middle; d++) {
            snprintf(name, sizeof name, "%s_OUTER%d", of, d);
            broadcast_open_define(plan, m, name, call, open->stride[t][d], dims);
        }
    }
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    broadcast_open open;
    open_of(call, &open);
    const int m = optune_plan_module(plan);
    broadcast_define(plan, m, call);
    define_loops(plan, m, call, &open, optune_config_int(config, "task"));
    optune_plan_define(plan, m, "BLOCK", lanes(task) * optune_config_int(config, "vectors"));
    optune_plan_define(plan, m, "WIDTH", lanes(task));
    optune_plan_define(plan, m, "STREAM",
                       strcmp(optune_config_word(config, "store"), "stream") == 0);
    optune_plan_define(plan, m, "AHEAD", optune_config_int(config, "prefetch"));
    optune_stage stage = {.phase = OPTUNE_TIMED, .module = m, .function = "broadcast"};
    stage.arg[stage.n_args++] = optune_output_arg(0);
    for (int i = 0; i < call->n_inputs; i++)
        stage.arg[stage.n_args++] = optune_input_arg(i);
    broadcast_open_args(call, &stage);
    /* What is fused computes in vectors of the output's type. */
    if (optune_dtype_equal(call->output[0].dtype, call->input[call->n_inputs - 1].type.dtype))
        optune_plan_fuse(task, plan, &stage, open.inner_from);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(elementwise, vector) = {
    .name = "vector.cpu",
    .pattern = OPTUNE_BROADCAST,
    .summary = "vectors in flight along the innermost dim",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "*",
};
