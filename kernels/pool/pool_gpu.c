/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/pool/pool_gpu.h declares. */
#include "kernels/pool/pool_gpu.h"

/* What looks at more elements is left as loops. */
enum { POOL_UNROLLED = 64 };

static bool pool_is_grad(const optune_call *call)
{
    return call->n_inputs == 2;
}

pool_shape pool_gpu_shape(const optune_call *call)
{
    pool_shape s;
    if (pool_is_grad(call))
        pool_backward_shape(call, &s);
    else
        pool_forward_shape(call, &s);
    return s;
}

/* ---- windows -------------------------------------------------------------------------------- */

void pool_window_space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "wide", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "unroll", 2, (const int64_t[]){0, 1});
}

/* A thread's windows: `each` below each other, `wide` beside each other. */
typedef struct pool_strip {
    pool_shape s;
    int64_t threads, each, wide;
    int64_t rows;           /* of the data under them */
    int64_t first, vectors; /* of a row, from x * stride on */
    int64_t seen;           /* elements that are folded */
    int64_t blocks;
} pool_strip;

static pool_strip strip_of(const optune_task *task, const optune_config *config)
{
    pool_strip t = {.s = pool_gpu_shape(task->call)};
    const pool_axis *const y = &t.s.y, *const x = &t.s.x;
    t.threads = optune_config_int(config, "threads");
    t.each = optune_config_int(config, "each");
    t.wide = optune_config_int(config, "wide");
    t.rows = (t.each - 1) * y->stride + (y->kernel - 1) * y->dilation + 1;
    t.first = -host_ceil(x->before, t.wide) * t.wide;
    t.vectors = host_ceil((t.wide - 1) * x->stride + (x->kernel - 1) * x->dilation + 1 -
                              x->before - t.first,
                          t.wide);
    t.seen = t.rows * x->kernel * t.wide;
    /* Strips may hang over the last window. */
    t.blocks = host_ceil(t.s.planes * host_ceil(y->out, t.each) * host_ceil(x->out, t.wide) *
                             t.s.block,
                         t.threads);
    return t;
}

static int64_t strip_registers(const pool_strip *t)
{
    return 32 + 2 * t->each * (t->wide > 1 ? t->wide / 2 : 1) +
           (t->wide > 1 ? t->vectors * t->wide : 0);
}

bool pool_window_valid(const optune_task *task, const optune_config *config, char *why)
{
    const pool_strip t = strip_of(task, config);
    if (optune_config_int(config, "unroll") && t.seen > POOL_UNROLLED * t.wide)
        return optune_refuse(why, "%" PRId64 " elements are too many to unroll", t.seen);
    if (t.each >= 2 * t.s.y.out)
        return optune_refuse(why, "%" PRId64 " windows for a column of %" PRId64, t.each,
                             t.s.y.out);
    if (t.wide > 1) {
        if (t.s.block > 1 || t.s.x.in % t.wide)
            return optune_refuse(why, "rows are no multiples of %" PRId64, t.wide);
        if (t.wide * pattern_bytes(task->call->output[0].dtype) > 16)
            return optune_refuse(why, "vectors of more than 16 bytes");
        if (t.wide >= 2 * t.s.x.out)
            return optune_refuse(why, "%" PRId64 " windows for a row of %" PRId64, t.wide,
                                 t.s.x.out);
        if (t.vectors * t.wide > POOL_UNROLLED)
            return optune_refuse(why, "a row under %" PRId64 " windows is too long", t.wide);
    }
    return gpu_grid_fits(t.blocks, why) &&
           gpu_fits(task, (const int64_t[]){t.threads, 1, 1}, 0, strip_registers(&t), why);
}

/* Wide vectors and rows that windows share, as long as every core has what hides latency. */
void pool_window_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config)
{
    const pool_shape s = pool_gpu_shape(task->call);
    int64_t each = 4, wide = host_min(16 / pattern_bytes(task->call->output[0].dtype), 8);
    optune_config_choose_int(config, space, "threads", gpu_threads(task, 256));
    if (s.block > 1)
        wide = 1;
    while (wide > 1 && (s.x.in % wide || s.x.out % wide))
        wide /= 2;
    for (;;) {
        optune_config_choose_int(config, space, "each", each);
        optune_config_choose_int(config, space, "wide", wide);
        optune_config_choose_int(config, space, "unroll", 0);
        const pool_strip t = strip_of(task, config);
        const bool few = t.blocks < (wide > 1 ? 2 : 8) * gpu_cores(task);
        if (each > 1 && (few || t.seen > POOL_UNROLLED * t.wide || each >= 2 * s.y.out))
            each /= 2;
        else if (wide > 1 && (few || !pool_window_valid(task, config, NULL)))
            wide /= 2;
        else
            break;
    }
    const pool_strip t = strip_of(task, config);
    optune_config_choose_int(config, space, "unroll",
                             s.y.kernel * s.x.kernel <= 25 && t.seen <= POOL_UNROLLED * t.wide);
}

double pool_window_estimate(const optune_task *task, const optune_config *config)
{
    const pool_strip t = strip_of(task, config);
    const bool unroll = optune_config_int(config, "unroll");
    const double rows = (double)t.rows, each = (double)t.each, wide = (double)t.wide;
    const double taps = (double)t.seen, loads = t.wide > 1 ? rows * (double)t.vectors : taps;
    const int64_t blocks = host_max(t.blocks, 1);
    const double bytes = (double)pattern_bytes(task->call->output[0].dtype) *
                         (double)(optune_tensor_elements(&task->call->input[0].type) +
                                  optune_tensor_elements(&task->call->output[0]));
    const gpu_work w = {
        .blocks = blocks,
        .threads = t.threads,
        .registers = strip_registers(&t),
        .instructions = loads * 2 + taps * (unroll ? 1 : 6) +
                        wide * (rows * (unroll ? 2 : 4 * each) + 8 * each) + 40,
        .bytes = bytes / (double)blocks,
        .waits = unroll ? 1 : 1 + loads / 4,
    };
    return gpu_cost(task, &w);
}

static int pool_gpu_module(const optune_task *task, const optune_config *config,
                           optune_plan *plan, int64_t rows)
{
    const pool_shape s = pool_gpu_shape(task->call);
    const bool unroll = optune_config_int(config, "unroll");
    const int m = pool_module(plan, &s, 1);
    gpu_define_index(plan, m, task->call);
    optune_plan_define(plan, m, "THREADS", optune_config_int(config, "threads"));
    optune_plan_define(plan, m, "EACH", optune_config_int(config, "each"));
    optune_plan_define(plan, m, "UNROLL_Y", unroll ? rows : 1);
    optune_plan_define(plan, m, "UNROLL_X", unroll ? s.x.kernel : 1);
    return m;
}

static optune_stage pool_gpu_stage(const optune_config *config, int module,
                                   const char *function, int64_t blocks)
{
    return (optune_stage){.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = function,
                          .grid = {blocks},
                          .block = {optune_config_int(config, "threads")}};
}

void pool_window_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const pool_strip t = strip_of(task, config);
    const optune_dtype dtype = task->call->input[0].type.dtype;
    const int m = pool_gpu_module(task, config, plan, t.rows);
    optune_stage stage = pool_gpu_stage(config, m, "pool", t.blocks);
    optune_plan_define(plan, m, "POOL_MEAN", pool_is_mean(task->call));
    optune_plan_define(plan, m, "WIDE", t.wide);
    optune_plan_define(plan, m, "FIRST", t.first);
    optune_plan_define(plan, m, "VECTORS", t.vectors);
    optune_plan_define_text(plan, m, "IN_T", gpu_stored_type(dtype));
    optune_plan_define_text(plan, m, "IN_LOWEST",
                            !gpu_is_half(dtype)                 ? "s_lowest"
                            : dtype.code == OPTUNE_DTYPE_BFLOAT ? "0xFF80"
                                                                : "0xFC00");
    gpu_define_stored(plan, m, task->call);
    stage.n_args = 2;
    stage.arg[0] = optune_input_arg(0);
    stage.arg[1] = optune_output_arg(0);
    optune_plan_stage(plan, &stage);
}

/* ---- gradients ------------------------------------------------------------------------------ */

void pool_gather_space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "unroll", 2, (const int64_t[]){0, 1});
}

static int64_t pool_gather_blocks(int64_t items, const optune_config *config)
{
    return host_ceil(items,
                     optune_config_int(config, "threads") * optune_config_int(config, "each"));
}

bool pool_gather_valid(const optune_task *task, const optune_config *config, char *why)
{
    const pool_shape s = pool_gpu_shape(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t seen = s.y.kernel * s.x.kernel;
    if (optune_config_int(config, "unroll") && seen > POOL_UNROLLED)
        return optune_refuse(why, "%" PRId64 " elements are too many to unroll", seen);
    return gpu_grid_fits(
               pool_gather_blocks(optune_tensor_elements(&task->call->output[0]), config),
               why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, 0, 32, why);
}

void pool_gather_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config)
{
    const pool_shape s = pool_gpu_shape(task->call);
    optune_config_choose_int(config, space, "threads", gpu_threads(task, 256));
    optune_config_choose_int(config, space, "each", 1);
    optune_config_choose_int(config, space, "unroll", s.y.kernel * s.x.kernel <= 25);
}

/* A thread for each of `items`, which looks at `window` elements. */
static double pool_gather_launch(const optune_task *task, const optune_config *config,
                                 int64_t items, double window, double bytes)
{
    const double each = (double)optune_config_int(config, "each");
    const bool unroll = optune_config_int(config, "unroll");
    const int64_t blocks = host_max(pool_gather_blocks(items, config), 1);
    const gpu_work w = {
        .blocks = blocks,
        .threads = optune_config_int(config, "threads"),
        .registers = 32,
        .instructions = each * (window * (unroll ? 5 : 9) + 30) + 10,
        .bytes = bytes / (double)blocks,
        .waits = each * (unroll ? 1 : 1 + window / 4),
    };
    return gpu_cost(task, &w);
}

double pool_gather_estimate(const optune_task *task, const optune_config *config)
{
    const optune_call *call = task->call;
    const pool_shape s = pool_gpu_shape(call);
    const int64_t out = optune_tensor_elements(&call->output[0]);
    const double window = (double)(s.y.kernel * s.x.kernel);
    const double elem = (double)pattern_bytes(call->output[0].dtype);
    const int64_t windows = optune_tensor_elements(&call->input[POOL_GRAD].type);
    const double held = (double)(host_ceil(s.y.kernel, s.y.stride) * /* windows of an element */
                                 host_ceil(s.x.kernel, s.x.stride));
    const double gather =
        pool_gather_launch(task, config, out, held, elem * ((double)out + 2 * (double)windows));
    return pool_is_mean(call)
               ? gather
               : gather + pool_gather_launch(task, config, windows, window,
                                             elem * ((double)out + (double)windows));
}

void pool_gather_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int64_t windows = optune_tensor_elements(&call->input[POOL_GRAD].type);
    const int m = pool_gpu_module(task, config, plan, pool_gpu_shape(call).y.kernel);
    optune_stage gather =
        pool_gpu_stage(config, m, "gather",
                       pool_gather_blocks(optune_tensor_elements(&call->output[0]), config));
    gather.arg[gather.n_args++] = optune_input_arg(POOL_GRAD);
    optune_plan_define(plan, m, "POOL_MEAN", pool_is_mean(call));
    if (!pool_is_mean(call)) {
        const int chosen = optune_plan_scratch(plan, "chosen", windows * 4, false);
        optune_stage first =
            pool_gpu_stage(config, m, "choose", pool_gather_blocks(windows, config));
        first.n_args = 2;
        first.arg[0] = optune_input_arg(POOL_DATA);
        first.arg[1] = gather.arg[gather.n_args++] = optune_scratch_arg(chosen);
        optune_plan_stage(plan, &first);
    }
    gather.arg[gather.n_args++] = optune_output_arg(0);
    optune_plan_stage(plan, &gather);
}
