/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_conv2d_staged.gpu: float32, strips of outputs in registers, what they see in shared
 * memory. CUDA and OpenCL. */
#include "kernels/convolution/conv2d.h"
#include "kernels/host/pattern_gpu.h"

/* Multiply-adds of a thread that are unrolled, weights that it keeps; columns of a strip. */
enum { STAGED_UNROLLED = 2048, STAGED_KEPT = 49, WIDE = 4 };

typedef struct staged {
    conv2d_shape s;
    int64_t threads, each, down; /* rows of a strip, strips of a band below each other */
    int64_t across, vectors;     /* strips beside each other, vectors of a strip's row */
    int64_t rows, in_rows, in_columns;
    int64_t planes; /* bands of a block */
} staged;

static bool shape_of(const optune_call *call, conv2d_shape *s)
{
    return optune_tensor_known(&call->output[0]) && conv2d_shape_of(call, s);
}

/* What follows from the shape and three knobs. */
static void lay_out(staged *t)
{
    t->across = host_ceil(t->s.ow, WIDE);
    t->vectors = host_ceil((WIDE - 1) * t->s.sw + (t->s.kw - 1) * t->s.dw + 1, WIDE);
    t->rows = t->down * t->each;
    t->in_rows = (t->rows - 1) * t->s.sh + (t->s.kh - 1) * t->s.dh + 1;
    t->in_columns = ((t->across - 1) * t->s.sw + t->vectors) * WIDE;
    t->planes = host_max(t->threads / (t->across * t->down), 1);
}

static staged staged_of(const optune_call *call, const optune_config *config)
{
    staged t;
    shape_of(call, &t.s);
    t.threads = optune_config_int(config, "threads");
    t.each = optune_config_int(config, "each");
    t.down = optune_config_int(config, "down");
    lay_out(&t);
    return t;
}

static int64_t shared_of(const staged *t)
{
    return t->planes * t->in_rows * t->in_columns * 4;
}

static int64_t items_of(const staged *t)
{
    return t->s.n * t->s.co * host_ceil(t->s.oh, t->rows);
}

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    conv2d_shape s;
    if (!shape_of(call, &s))
        return optune_refuse(why, "needs constant shapes");
    if (!conv2d_is_depthwise(&s))
        return optune_refuse(why, "it is not depthwise");
    if (s.data_block || s.out_block)
        return optune_refuse(why, "needs NCHW");
    for (int i = 0; i < 3; i++) {
        const optune_dtype dtype =
            i < 2 ? call->input[i].type.dtype : call->output[0].dtype;
        if (!pattern_is_real(dtype) || dtype.bits != 32)
            return optune_refuse(why, "needs float32");
    }
    const int64_t high = (s.kh - 1) * s.dh + 1, across = (s.kw - 1) * s.dw + 1;
    if (across > 96 || high * across > STAGED_UNROLLED / WIDE)
        return optune_refuse(why, "windows of %" PRId64 " x %" PRId64 " are too large to unroll",
                             high, across);
    if (s.h * s.w >= INT32_MAX / 2 || s.oh * s.ow >= INT32_MAX / 2)
        return optune_refuse(why, "one plane is too large for 32-bit offsets");
    /* The least block: a row of outputs, or what the least number of threads has of them. */
    staged t = {.s = s, .threads = host_max(host_ceil(s.ow, WIDE), 64), .each = 1, .down = 1};
    lay_out(&t);
    return gpu_fits(task, (const int64_t[]){t.threads, 1, 1}, shared_of(&t), 0, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "each", 5, (const int64_t[]){1, 2, 4, 7, 8});
    optune_space_ints(space, "down", 6, (const int64_t[]){1, 2, 4, 8, 14, 16});
}

static int64_t registers_of(const staged *t)
{
    return t->each * WIDE + t->vectors * WIDE + 20 +
           host_min(t->s.kh * t->s.kw, STAGED_KEPT);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const staged t = staged_of(task->call, config);
    if (t.across * t.down > t.threads)
        return optune_refuse(why, "more strips of a band than threads");
    if (t.rows > 1 && t.rows / 2 >= t.s.oh)
        return optune_refuse(why, "half of a band's rows are none");
    if (t.threads > 64 && t.planes / 2 >= items_of(&t))
        return optune_refuse(why, "half of the threads have no band");
    if (t.each * WIDE * t.s.kh * t.s.kw > STAGED_UNROLLED)
        return optune_refuse(why, "%" PRId64 " multiply-adds are too many to unroll",
                             t.each * WIDE * t.s.kh * t.s.kw);
    return gpu_grid_fits(host_ceil(items_of(&t), t.planes), why) &&
           gpu_fits(task, (const int64_t[]){t.threads, 1, 1}, shared_of(&t), registers_of(&t),
                    why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const staged t = staged_of(task->call, config);
    const int64_t blocks = host_max(host_ceil(items_of(&t), t.planes), 1);
    const double taps = (double)(t.s.kh * t.s.kw), outputs = (double)(t.each * WIDE);
    const double rows = (double)((t.each - 1) * t.s.sh + (t.s.kh - 1) * t.s.dh + 1);
    const double warps = (double)t.threads / 32, threads = (double)t.threads;
    const double copied = (double)(t.planes * t.in_rows * t.in_columns) / threads;
    const double loads = rows * (double)t.vectors;
    const double moved = 4 * (double)t.s.n *
                         (double)(t.s.ci * t.s.h * t.s.w + t.s.co * t.s.oh * t.s.ow) /
                         (double)blocks;
    const gpu_work w = {
        .blocks = blocks,
        .threads = t.threads,
        .registers = registers_of(&t),
        .shared = shared_of(&t),
        .instructions = copied * 14 + taps + loads + outputs * taps +
                        2 * outputs + 60,
        .bytes = moved,
        .cached = 4 * threads * (copied + outputs),
        .waits = 2,
        .barriers = 1,
        .pipe = warps * (loads * 4 + copied * 2 + outputs),
    };
    return gpu_cost(task, &w);
}

/* Four strips below each other of seven rows, where windows overlap, or as many as make a plane;
 * small blocks, so that a core has others while one waits for its input. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    shape_of(task->call, &s);
    int64_t down = 4, each = 7, threads = gpu_threads(task, 128);
    for (;;) {
        optune_config_choose_int(config, space, "threads", threads);
        optune_config_choose_int(config, space, "each", each);
        optune_config_choose_int(config, space, "down", down);
        if (valid(task, config, NULL))
            break;
        if (down > 1)
            down /= 2;
        else if (each > 1)
            each /= 2;
        else if (threads < 1024 && host_ceil(s.ow, WIDE) > threads)
            threads *= 2;
        else if (threads > 64)
            threads /= 2;
        else
            break;
        if (each == 3)
            each = 4;
    }
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const staged t = staged_of(call, config);
    const int m = optune_plan_module(plan);
    conv2d_define(plan, m, &t.s);
    gpu_define_index(plan, m, call);
    gpu_define_stored(plan, m, call);
    optune_plan_define_text(plan, m, "SCALAR", "float");
    optune_plan_define(plan, m, "THREADS", t.threads);
    optune_plan_define(plan, m, "EACH", t.each);
    optune_plan_define(plan, m, "DOWN", t.down);
    optune_plan_define(plan, m, "WIDE", WIDE);
    optune_plan_define(plan, m, "PLANES", t.planes);
    optune_plan_define(plan, m, "KEEPS", t.s.kh * t.s.kw <= STAGED_KEPT);
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "depthwise",
                          .n_args = 3,
                          .arg = {optune_input_arg(CONV2D_DATA),
                                  optune_input_arg(CONV2D_WEIGHT), optune_output_arg(0)},
                          .grid = {host_ceil(items_of(&t), t.planes)},
                          .block = {t.threads},
                          .shared = shared_of(&t)};
    optune_plan_fuse(task, plan, &stage, 0);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(convolution_direct, depthwise_staged) = {
    .op = "conv2d",
    .name = "depthwise_conv2d_staged.gpu",
    .summary = "float32, a strip of outputs in a thread's registers, bands in shared memory",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
