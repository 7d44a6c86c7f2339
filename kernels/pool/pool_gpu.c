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

void pool_gpu_space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "unroll", 2, (const int64_t[]){0, 1});
}

static int64_t pool_gpu_blocks(int64_t items, const optune_config *config)
{
    return host_ceil(items,
                     optune_config_int(config, "threads") * optune_config_int(config, "each"));
}

/* Of windows, whose strips along the height may hang over the last one. */
static int64_t pool_window_blocks(const pool_shape *s, const optune_config *config)
{
    return host_ceil(s->planes * host_ceil(s->y.out, optune_config_int(config, "each")) *
                         s->x.out * s->block,
                     optune_config_int(config, "threads"));
}

/* Rows of the data under the windows of a thread. */
static int64_t pool_window_rows(const pool_shape *s, const optune_config *config)
{
    return (optune_config_int(config, "each") - 1) * s->y.stride +
           (s->y.kernel - 1) * s->y.dilation + 1;
}

bool pool_gpu_valid(const optune_task *task, const optune_config *config, char *why)
{
    const pool_shape s = pool_gpu_shape(task->call);
    const bool grad = pool_is_grad(task->call);
    const int64_t threads = optune_config_int(config, "threads");
    const int64_t each = optune_config_int(config, "each");
    const int64_t seen = (grad ? s.y.kernel : pool_window_rows(&s, config)) * s.x.kernel;
    if (optune_config_int(config, "unroll") && seen > POOL_UNROLLED)
        return optune_refuse(why, "%" PRId64 " elements are too many to unroll", seen);
    if (!grad && each >= 2 * s.y.out)
        return optune_refuse(why, "%" PRId64 " windows for a column of %" PRId64, each,
                             s.y.out);
    const int64_t blocks =
        grad ? pool_gpu_blocks(optune_tensor_elements(&task->call->output[0]), config)
             : pool_window_blocks(&s, config);
    return gpu_grid_fits(blocks, why) &&
           gpu_fits(task, (const int64_t[]){threads, 1, 1}, 0, grad ? 32 : 32 + 2 * each, why);
}

void pool_gpu_fallback(const optune_task *task, const optune_space *space,
                       optune_config *config)
{
    const pool_shape s = pool_gpu_shape(task->call);
    const bool grad = pool_is_grad(task->call);
    int64_t each = grad ? 1 : 4;
    optune_config_choose_int(config, space, "threads", gpu_threads(task, 256));
    optune_config_choose_int(config, space, "each", each);
    /* Windows share rows as long as every core has what hides latency. */
    while (each > 1 &&
           (pool_window_blocks(&s, config) < 8 * gpu_cores(task) ||
            pool_window_rows(&s, config) * s.x.kernel > POOL_UNROLLED || each >= 2 * s.y.out)) {
        each /= 2;
        optune_config_choose_int(config, space, "each", each);
    }
    const int64_t rows = grad ? s.y.kernel : pool_window_rows(&s, config);
    optune_config_choose_int(config, space, "unroll",
                             s.y.kernel * s.x.kernel <= 25 &&
                                 rows * s.x.kernel <= POOL_UNROLLED);
}

/* A thread for each of `items`, which looks at `window` elements. */
static double pool_gpu_launch(const optune_task *task, const optune_config *config,
                              int64_t items, double window, double bytes)
{
    const double each = (double)optune_config_int(config, "each");
    const bool unroll = optune_config_int(config, "unroll");
    const int64_t blocks = host_max(pool_gpu_blocks(items, config), 1);
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

static double pool_window_estimate(const optune_task *task, const optune_config *config)
{
    const pool_shape s = pool_gpu_shape(task->call);
    const bool unroll = optune_config_int(config, "unroll");
    const double each = (double)optune_config_int(config, "each");
    const double rows = (double)pool_window_rows(&s, config);
    const double taps = rows * (double)s.x.kernel;
    const int64_t blocks = host_max(pool_window_blocks(&s, config), 1);
    const double bytes = (double)pattern_bytes(task->call->output[0].dtype) *
                         (double)(optune_tensor_elements(&task->call->input[0].type) +
                                  optune_tensor_elements(&task->call->output[0]));
    const gpu_work w = {
        .blocks = blocks,
        .threads = optune_config_int(config, "threads"),
        .registers = 32 + 2 * optune_config_int(config, "each"),
        .instructions =
            taps * (unroll ? 3 : 8) + rows * (unroll ? 2 : 4 * each) + 8 * each + 40,
        .bytes = bytes / (double)blocks,
        .waits = unroll ? 1 : 1 + taps / 4,
    };
    return gpu_cost(task, &w);
}

double pool_gpu_estimate(const optune_task *task, const optune_config *config)
{
    const optune_call *call = task->call;
    const pool_shape s = pool_gpu_shape(call);
    const int64_t out = optune_tensor_elements(&call->output[0]);
    const double window = (double)(s.y.kernel * s.x.kernel);
    const double elem = (double)pattern_bytes(call->output[0].dtype);
    if (!pool_is_grad(call))
        return pool_window_estimate(task, config);
    const int64_t windows = optune_tensor_elements(&call->input[POOL_GRAD].type);
    const double held = (double)(host_ceil(s.y.kernel, s.y.stride) * /* windows of an element */
                                 host_ceil(s.x.kernel, s.x.stride));
    const double gather =
        pool_gpu_launch(task, config, out, held, elem * ((double)out + 2 * (double)windows));
    return pool_is_mean(call)
               ? gather
               : gather + pool_gpu_launch(task, config, windows, window,
                                          elem * ((double)out + (double)windows));
}

static int pool_gpu_module(const optune_task *task, const optune_config *config,
                           optune_plan *plan)
{
    const pool_shape s = pool_gpu_shape(task->call);
    const int m = pool_module(plan, &s, 1);
    gpu_define_index(plan, m, task->call);
    optune_plan_define(plan, m, "THREADS", optune_config_int(config, "threads"));
    optune_plan_define(plan, m, "EACH", optune_config_int(config, "each"));
    const int64_t rows = pool_is_grad(task->call) ? s.y.kernel : pool_window_rows(&s, config);
    optune_plan_define(plan, m, "UNROLL_Y", optune_config_int(config, "unroll") ? rows : 1);
    optune_plan_define(plan, m, "UNROLL_X",
                       optune_config_int(config, "unroll") ? s.x.kernel : 1);
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
    const pool_shape s = pool_gpu_shape(task->call);
    const int m = pool_gpu_module(task, config, plan);
    optune_stage stage = pool_gpu_stage(config, m, "pool", pool_window_blocks(&s, config));
    optune_plan_define(plan, m, "POOL_MEAN", pool_is_mean(task->call));
    stage.n_args = 2;
    stage.arg[0] = optune_input_arg(0);
    stage.arg[1] = optune_output_arg(0);
    optune_plan_stage(plan, &stage);
}

void pool_gather_plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int64_t windows = optune_tensor_elements(&call->input[POOL_GRAD].type);
    const int m = pool_gpu_module(task, config, plan);
    optune_stage gather = pool_gpu_stage(
        config, m, "gather", pool_gpu_blocks(optune_tensor_elements(&call->output[0]), config));
    gather.arg[gather.n_args++] = optune_input_arg(POOL_GRAD);
    optune_plan_define(plan, m, "POOL_MEAN", pool_is_mean(call));
    if (!pool_is_mean(call)) {
        const int chosen = optune_plan_scratch(plan, "chosen", windows * 4, false);
        optune_stage first =
            pool_gpu_stage(config, m, "choose", pool_gpu_blocks(windows, config));
        first.n_args = 2;
        first.arg[0] = optune_input_arg(POOL_DATA);
        first.arg[1] = gather.arg[gather.n_args++] = optune_scratch_arg(chosen);
        optune_plan_stage(plan, &first);
    }
    gather.arg[gather.n_args++] = optune_output_arg(0);
    optune_plan_stage(plan, &gather);
}
