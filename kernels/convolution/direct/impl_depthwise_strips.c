/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_conv2d_strips.gpu: strips of outputs in registers, nothing in shared memory. CUDA and
 * OpenCL. */
#include "kernels/convolution/conv2d.h"
#include "kernels/host/pattern_gpu.h"

/* Multiply-adds of a thread that are unrolled, and weights that it keeps. */
enum { STRIPS_UNROLLED = 2048, STRIPS_KEPT = 49 };

typedef struct strips {
    conv2d_shape s;
    int64_t elem;                 /* bytes of an element in memory */
    int64_t threads, each, wide;  /* rows and columns of a thread's outputs */
    int64_t start, vectors, rows; /* its first vector of a row, from x * SW on, and how many */
} strips;

static bool shape_of(const optune_call *call, strips *t)
{
    t->elem = host_max(call->input[CONV2D_DATA].type.dtype.bits / 8, 1);
    return optune_tensor_known(&call->output[0]) && conv2d_shape_of(call, &t->s);
}

static strips strips_of(const optune_call *call, const optune_config *config)
{
    strips t;
    shape_of(call, &t);
    t.threads = optune_config_int(config, "threads");
    t.each = optune_config_int(config, "each");
    t.wide = optune_config_int(config, "wide");
    t.start = -host_ceil(t.s.pl, t.wide) * t.wide;
    t.vectors = host_ceil((t.wide - 1) * t.s.sw + (t.s.kw - 1) * t.s.dw + 1 - t.s.pl - t.start,
                          t.wide);
    t.rows = (t.each - 1) * t.s.sh + (t.s.kh - 1) * t.s.dh + 1;
    return t;
}

static int64_t items_of(const strips *t)
{
    return t->s.n * t->s.co * host_ceil(t->s.oh, t->each) * host_ceil(t->s.ow, t->wide);
}

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    const optune_dtype data = call->input[CONV2D_DATA].type.dtype, out = call->output[0].dtype;
    strips t;
    if (!shape_of(call, &t))
        return optune_refuse(why, "needs constant shapes");
    if (!conv2d_is_depthwise(&t.s))
        return optune_refuse(why, "it is not depthwise");
    if (t.s.data_block || t.s.out_block)
        return optune_refuse(why, "needs NCHW");
    if (!pattern_is_real(data) || !gpu_stored_type(data) || !pattern_is_real(out) ||
        !gpu_stored_type(out) ||
        !optune_dtype_equal(data, call->input[CONV2D_WEIGHT].type.dtype) ||
        (out.bits == 64) != (data.bits == 64))
        return optune_refuse(why, "needs floats of 16 to 64 bits");
    if (t.s.kh * t.s.kw > STRIPS_UNROLLED)
        return optune_refuse(why, "%" PRId64 " taps are too many to unroll", t.s.kh * t.s.kw);
    /* What lies between the taps of a dilated window is unrolled, too, if only to be dropped. */
    const int64_t high = (t.s.kh - 1) * t.s.dh + 1, across = (t.s.kw - 1) * t.s.dw + 1;
    if (across > 96 || high * across > STRIPS_UNROLLED)
        return optune_refuse(why, "windows of %" PRId64 " x %" PRId64 " are too large to unroll",
                             high, across);
    return (t.s.h * t.s.w < INT32_MAX / 2 && t.s.oh * t.s.ow < INT32_MAX / 2) ||
           optune_refuse(why, "one plane is too large for 32-bit offsets");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "each", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "wide", 4, (const int64_t[]){1, 2, 4, 8});
}

static int64_t registers_of(const strips *t)
{
    return (t->each * t->wide + t->vectors * t->wide) * (t->s.f64 ? 2 : 1) + 24 +
           host_min(t->s.kh * t->s.kw, STRIPS_KEPT) * (t->s.f64 ? 2 : 1);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const strips t = strips_of(task->call, config);
    const int64_t steps = t.each * t.wide * t.s.kh * t.s.kw;
    if (t.s.w % t.wide)
        return optune_refuse(why, "vectors of %" PRId64 " for rows of %" PRId64, t.wide, t.s.w);
    if (t.wide * host_max(t.elem, task->call->output[0].dtype.bits / 8) > 16)
        return optune_refuse(why, "vectors of more than 16 bytes");
    if (t.each >= 2 * t.s.oh || t.wide >= 2 * t.s.ow)
        return optune_refuse(why, "half of a thread's outputs are none");
    if (steps > STRIPS_UNROLLED || t.rows * t.vectors * t.wide > 4 * STRIPS_UNROLLED)
        return optune_refuse(why, "%" PRId64 " multiply-adds are too many to unroll", steps);
    return gpu_grid_fits(host_ceil(items_of(&t), t.threads), why) &&
           gpu_fits(task, (const int64_t[]){t.threads, 1, 1}, 0, registers_of(&t), why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const strips t = strips_of(task->call, config);
    const int64_t blocks = host_max(host_ceil(items_of(&t), t.threads), 1);
    const double loads = (double)(t.rows * t.vectors), outputs = (double)(t.each * t.wide);
    const double taps = (double)(t.s.kh * t.s.kw), warps = (double)t.threads / 32;
    const double elem = (double)t.elem;
    const double moved = elem * (double)t.s.n *
                         (double)(t.s.ci * t.s.h * t.s.w + t.s.co * t.s.oh * t.s.ow) /
                         (double)blocks;
    const double again = t.s.kh * t.s.kw > STRIPS_KEPT ? (double)t.rows * (double)t.s.kw : taps;
    const gpu_work w = {
        .blocks = blocks,
        .threads = t.threads,
        .registers = registers_of(&t),
        .instructions = loads * 3 + again + outputs * taps * (t.s.f64 ? 2 : 1) +
                        (t.elem == 2 ? loads * (double)t.wide : 0) + 3 * outputs + 60,
        .bytes = moved,
        .cached = moved * (double)t.rows / (double)(t.each * t.s.sh),
        .waits = 2,
        .pipe = warps * (loads * host_max((double)t.wide * elem / 4, 1) + again +
                         outputs * elem / 4),
    };
    return gpu_cost(task, &w);
}

/* Wide vectors and rows that windows share, as long as every core has what hides latency. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    strips t;
    shape_of(task->call, &t);
    const int64_t widest = host_max(t.elem, task->call->output[0].dtype.bits / 8);
    int64_t each = 4, wide = host_min(16 / widest, 8), threads = gpu_threads(task, 128);
    optune_config_choose_int(config, space, "threads", threads);
    while (wide > 1 && (t.s.w % wide || t.s.ow % wide))
        wide /= 2;
    if (wide == 1 && t.s.kh >= 5) /* what columns do not share, rows may */
        each = 8;
    for (;;) {
        optune_config_choose_int(config, space, "each", each);
        optune_config_choose_int(config, space, "wide", wide);
        const strips now = strips_of(task->call, config);
        const bool few = items_of(&now) < 512 * gpu_cores(task);
        if (each > 1 && (few || each >= 2 * t.s.oh))
            each /= 2;
        else if (wide > 1 && (few || !valid(task, config, NULL)))
            wide /= 2;
        else if (each > 1 && !valid(task, config, NULL))
            each /= 2;
        else
            break;
    }
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const strips t = strips_of(call, config);
    const int m = optune_plan_module(plan);
    conv2d_define(plan, m, &t.s);
    gpu_define_index(plan, m, call);
    gpu_define_stored(plan, m, call);
    optune_plan_define_text(plan, m, "SCALAR", t.s.f64 ? "double" : "float");
    optune_plan_define_text(plan, m, "IN_T",
                            gpu_stored_type(call->input[CONV2D_DATA].type.dtype));
    optune_plan_define(plan, m, "THREADS", t.threads);
    optune_plan_define(plan, m, "EACH", t.each);
    optune_plan_define(plan, m, "WIDE", t.wide);
    optune_plan_define(plan, m, "START", t.start);
    optune_plan_define(plan, m, "VECTORS", t.vectors);
    optune_plan_define(plan, m, "KEEPS", t.s.kh * t.s.kw <= STRIPS_KEPT);
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "depthwise",
                          .n_args = 3,
                          .arg = {optune_input_arg(CONV2D_DATA),
                                  optune_input_arg(CONV2D_WEIGHT), optune_output_arg(0)},
                          .grid = {host_ceil(items_of(&t), t.threads)},
                          .block = {t.threads}};
    if (optune_dtype_equal(call->input[CONV2D_DATA].type.dtype, call->output[0].dtype))
        optune_plan_fuse(task, plan, &stage, 0);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(convolution_direct, depthwise_strips) = {
    .op = "conv2d",
    .name = "depthwise_conv2d_strips.gpu",
    .summary = "a strip of outputs in a thread's registers, rows in vectors",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
