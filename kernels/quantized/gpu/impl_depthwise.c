/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_depthwise_conv2d.gpu: a filter for each channel; a thread has some neighbouring
 * channels of a tile of outputs. CUDA and OpenCL.
 */
#include "kernels/host/pattern_gpu.h"
#include "kernels/quantized/gpu/conv_gpu.h"

/* MOST_STRAIGHT, products of four bytes of a thread, all of them straight code. */
enum { MOST_TAPS = 64, MOST_STRAIGHT = 2048, FEW_REGISTERS = 144 };

typedef struct tile {
    int64_t threads, v, tx, ty;
    int64_t words, columns; /* of a column for a channel; that a thread looks at */
    int64_t passes;         /* as in qconv_gpu */
} tile;

static conv2d_shape shape_of(const optune_task *task)
{
    conv2d_shape s;
    qconv_shape_of(task->call, &s);
    return s;
}

static tile tile_of(const optune_task *task, const conv2d_shape *s, const optune_config *config)
{
    tile t = {.threads = optune_config_int(config, "threads"),
              .v = optune_config_int(config, "vector"),
              .tx = optune_config_int(config, "tile_x"),
              .ty = optune_config_int(config, "tile_y"),
              .passes = qconv_wide(task->call) ? 2 : 1};
    t.words = host_ceil((t.ty - 1) * s->sh + (s->kh - 1) * s->dh + 1, 4);
    t.columns = (t.tx - 1) * s->sw + (s->kw - 1) * s->dw + 1;
    return t;
}

static int64_t threads_of(const conv2d_shape *s, const tile *t)
{
    return s->n * host_ceil(s->oh, t->ty) * host_ceil(s->ow, t->tx) * (s->ci / t->v);
}

static int64_t products_of(const conv2d_shape *s, const tile *t)
{
    return t->ty * t->tx * t->v * s->kw * t->words * t->passes;
}

/* Words of the packed weights: sums begin at a multiple of 16 bytes. */
static int64_t weight_words(const conv2d_shape *s, const tile *t)
{
    return host_ceil(t->ty * s->kw * t->words * t->passes * s->ci, 4) * 4;
}

static int64_t registers_of(const tile *t)
{
    return t->ty * t->tx * t->v + 3 * t->words * t->v + 24;
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!qconv_applies(task, &s, why))
        return false;
    if (s.groups != s.ci || s.co != s.ci)
        return optune_refuse(why, "needs a group and a filter for each channel");
    if (s.kh * s.kw > MOST_TAPS)
        return optune_refuse(why, "a kernel of more than %d taps", MOST_TAPS);
    if ((s.kh - 1) * s.dh >= MOST_TAPS || (s.kw - 1) * s.dw >= MOST_TAPS)
        return optune_refuse(why, "taps that are %d and more apart", MOST_TAPS);
    return s.n * host_max(s.h * s.w, s.oh * s.ow) * s.ci <= INT32_MAX / 2 ||
           optune_refuse(why, "too large for 32-bit offsets");
}

static void space(const optune_task *task, optune_space *space)
{
    static const int64_t powers[] = {1, 2, 4, 8, 16};
    (void)task;
    gpu_space_threads(space);
    optune_space_ints(space, "vector", 5, powers);
    optune_space_ints(space, "tile_x", 4, powers);
    optune_space_ints(space, "tile_y", 3, powers);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const conv2d_shape s = shape_of(task);
    const tile t = tile_of(task, &s, config);
    if (s.ci % t.v)
        return optune_refuse(why, "channels are no whole vectors of %" PRId64, t.v);
    if ((t.tx > 1 && t.tx / 2 >= s.ow) || (t.ty > 1 && t.ty / 2 >= s.oh))
        return optune_refuse(why, "half of the tile lies outside the output");
    if (t.tx * t.ty * t.v > 1 && products_of(&s, &t) > MOST_STRAIGHT)
        return optune_refuse(why, "%" PRId64 " products of straight code, at most %d",
                             products_of(&s, &t), (int)MOST_STRAIGHT);
    if (t.tx > 1 && t.columns * t.words * host_ceil(t.v, 4) * 4 > MOST_STRAIGHT)
        return optune_refuse(why, "%" PRId64 " columns of straight code", t.columns);
    return gpu_grid_fits(host_ceil(threads_of(&s, &t), t.threads), why) &&
           gpu_fits(task, (const int64_t[]){t.threads, 1, 1}, 0, registers_of(&t), why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const conv2d_shape s = shape_of(task);
    const tile t = tile_of(task, &s, config);
    const double loads = (double)(t.columns * t.words * 4 * t.threads);
    const double vectors = (double)(t.columns * t.words * t.v);
    const double outputs = (double)(t.tx * t.ty * t.v * t.threads);
    const gpu_work w = {
        .blocks = host_ceil(threads_of(&s, &t), t.threads),
        .threads = t.threads,
        .registers = registers_of(&t),
        .instructions = 6.0 * (double)(t.columns * t.words * 4) + 2 * vectors +
                        1.25 * (double)products_of(&s, &t) + 6.0 * (double)(t.tx * t.ty * t.v) +
                        40,
        .bytes = gpu_sectors(outputs / (double)t.v, t.v) +
                 outputs * (double)(s.h * s.w) / (double)(s.oh * s.ow),
        .cached = loads * (double)t.v + outputs,
        .waits = 2,
    };
    return gpu_cost(task, &w);
}

/* What loads least for an output and leaves every core some blocks. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    static const struct {
        int64_t v, tx, ty;
    } tiles[] = {{16, 2, 2}, {8, 4, 2}, {16, 2, 1}, {8, 2, 2}, {16, 1, 1},
                 {8, 2, 1},  {4, 4, 2}, {8, 1, 1},  {4, 2, 2}, {4, 2, 1},
                 {4, 1, 1},  {2, 2, 2}, {2, 1, 1},  {1, 2, 2}, {1, 1, 1}};
    const conv2d_shape s = shape_of(task);
    optune_config_choose_int(config, space, "threads", gpu_threads(task, 128));
    for (int full = 1; full >= 0; full--)
        for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
            optune_config_choose_int(config, space, "vector", tiles[i].v);
            optune_config_choose_int(config, space, "tile_x", tiles[i].tx);
            optune_config_choose_int(config, space, "tile_y", tiles[i].ty);
            const tile t = tile_of(task, &s, config);
            const bool small = t.tx * t.ty == 1 && t.v <= 4;
            if (valid(task, config, NULL) &&
                (full ? registers_of(&t) <= FEW_REGISTERS &&
                            threads_of(&s, &t) >= 2 * t.threads * gpu_cores(task)
                      : small))
                return;
        }
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const conv2d_shape s = shape_of(task);
    const tile t = tile_of(task, &s, config);
    const int64_t words = weight_words(&s, &t);
    const int m = optune_plan_module(plan);
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"THREADS", t.threads},     {"V", t.v},    {"TX", t.tx},      {"TY", t.ty},
        {"TERMS", qconv_terms(&s)}, {"CI_PAD", 1}, {"CO_PAD", 1},     {"LIST_AT", words * 4},
        {"PASSES", t.passes},       {"SPLITS", 1}, {"PUT_MOST", t.v}, {"FLAT", QCONV_GPU_FLAT},
    };
    qconv_define(plan, m, task, &s);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        optune_plan_define(plan, m, number[i].name, number[i].value);
    optune_plan_define_text(plan, m, "INDEX", "int");
    const optune_arg packed = qconv_gpu_weights(task, plan, m, words * 4, s.ci, 1);
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,
                                            .module = m,
                                            .function = "depthwise",
                                            .n_args = 3,
                                            .arg = {optune_input_arg(QCONV_DATA), packed,
                                                    optune_output_arg(0)},
                                            .grid = {host_ceil(threads_of(&s, &t), t.threads)},
                                            .block = {t.threads}});
}

OPTUNE_IMPL(quantized_gpu, depthwise) = {
    .op = "quantized_conv2d",
    .name = "quantized_depthwise_conv2d.gpu",
    .summary = "a filter for each channel, four rows of a column at once",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
