/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d_direct.cpu: windows are read where they lie, in the data or in a copy of lines
 * with what is padded.
 */
#include "kernels/quantized/conv.h"
#include "kernels/quantized/shares.h"

enum { MOST_BYTES = 1 << 30, MOST_COPY = 16 << 20 };

/* How a call is computed. */
typedef struct direct {
    conv2d_shape s; /* of one line where all pixels are one */
    bool pairs, copied;
    int64_t passes, taps, run, run_words, words; /* of a window; see the body */
    int64_t nv, nr, panels;
    int64_t rows, cols; /* of a tile */
    int64_t units;      /* tiles of a lone line, or lines of tiles */
} direct;

static bool four(const optune_task *task)
{
    return task->device->vector_bytes == 64 && task->device->dots & OPTUNE_DOT_I8;
}

/* Outputs of a tile: of a line that is longer, shares of about equal length; else whole lines. */
static void tile_of(direct *d, int64_t most)
{
    const int64_t ow = d->s.ow;
    d->cols = host_ceil(ow, host_ceil(ow, most));
    d->rows = ow < most ? host_min(most / ow, d->s.oh) : 1;
}

static direct direct_of(const optune_task *task, const conv2d_shape *shape)
{
    direct d = {.s = *shape, .pairs = !four(task)};
    conv2d_shape *s = &d.s;
    const int64_t lanes = host_vector_bytes(task) / 4, numbers = d.pairs ? 2 : 4;
    d.passes = !d.pairs && qconv_wide(task->call) ? 2 : 1;
    const bool inside = !(s->pt | s->pl | s->pb | s->pr);
    const int64_t lying = s->dw == 1 && s->groups == 1 ? s->kw * s->ci_g : s->ci_g;
    d.copied = d.pairs || qconv_signed(task->call) || !inside || lying % 4;
    /* A copy is of a group's channels alone, whose columns are next to each other. */
    d.run = s->dw == 1 && (d.copied || s->groups == 1) ? s->kw * s->ci_g : s->ci_g;
    d.taps = s->kw * s->ci_g / d.run;
    d.run_words = host_ceil(d.run, numbers);
    d.words = s->kh * d.taps * d.run_words;
    if (!d.copied && s->kh == 1 && s->kw == 1 && s->sh == 1 && s->sw == 1) {
        s->ow = s->w = s->n * s->oh * s->ow;
        s->n = s->h = s->oh = 1;
    }
    d.nv = s->co_g > lanes ? 2 : 1;
    d.nr = d.nv * lanes;
    d.panels = host_ceil(s->co_g, d.nr);
    tile_of(&d, task->device->vector_registers < 32 ? 5 : d.pairs ? 12 : 14);
    d.units = s->oh == 1 ? host_ceil(s->ow, d.cols) : host_ceil(s->oh, d.rows);
    return d;
}

static int64_t words_bytes(const direct *d)
{
    return d->s.groups * d->panels * d->passes * d->words * d->nr * 4;
}

/* Of the data, from what a block's first output meets to what its last one does. */
static int64_t block_columns(const direct *d, int64_t units)
{
    const conv2d_shape *s = &d->s;
    const int64_t cols = s->oh == 1 ? host_min(s->ow, d->cols * units) : s->ow;
    return (cols - 1) * s->sw + (s->kw - 1) * s->dw + 1;
}

/* Likewise, with what lies behind the last run. */
static int64_t block_bytes(const direct *d, int64_t units)
{
    const conv2d_shape *s = &d->s;
    const int64_t rows = s->oh == 1 ? 1 : host_min(s->oh, d->rows * units);
    const int64_t lines = (rows - 1) * s->sh + (s->kh - 1) * s->dh + 1;
    return (lines * block_columns(d, units) * s->ci_g + 4) * (d->pairs ? 2 : 1);
}

static qconv_work work_of(const direct *d)
{
    const conv2d_shape *s = &d->s;
    const bool lone = s->oh == 1;
    const double tiles = lone ? 1 : (double)host_ceil(s->ow, d->cols); /* of a unit */
    const int64_t step = lone ? d->cols * s->sw : d->rows * s->sh;
    const int64_t meets = lone ? (s->kw - 1) * s->dw : (s->kh - 1) * s->dh;
    return (qconv_work){
        .apart = s->groups * s->n,
        .tiles = d->units,
        .panels = d->panels,
        .panel_bytes = d->passes * d->words * d->nr * 4,
        /* Each number is read once for all taps. */
        .gather = fmin(1, (double)(s->sh * s->sw) / (double)(s->kh * s->kw)) / 2,
        .beside = (double)meets / (double)step,
        .weight = 2 / tiles,
    };
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!qconv_applies(task, &s, why))
        return false;
    const direct d = direct_of(task, &s);
    if (words_bytes(&d) > MOST_BYTES)
        return optune_refuse(why, "more than 1 GiB of packed weights");
    return !d.copied || block_bytes(&d, 1) <= MOST_COPY ||
           optune_refuse(why, "a thread would copy more than 16 MiB for a line of tiles");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    qconv_blocks_knob(space);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    conv2d_shape s;
    qconv_shape_of(task->call, &s);
    const direct d = direct_of(task, &s);
    const qconv_work work = work_of(&d);
    const int64_t blocks = optune_config_int(config, "blocks");
    if (!qconv_blocks_differ(task, &work, blocks, why))
        return false;
    return blocks == 1 || block_bytes(&d, blocks) <= 4 << 20 ||
           optune_refuse(why, "a block of more than 4 MiB");
}

/* The most units of which the data has room, 2^n. */
static int64_t units_in(const direct *d, int64_t room)
{
    int64_t units = 1;
    while (units < d->units && block_bytes(d, 2 * units) <= room)
        units *= 2;
    return units;
}

/* Pixels that are read once: several tiles of them in the L1, by all weights in turn. Else as many
 * as stay in the L2 by each panel of the weight, and little is copied twice. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    qconv_shape_of(task->call, &s);
    const direct d = direct_of(task, &s);
    const qconv_work work = work_of(&d);
    const int64_t l2 = host_l2(task);
    const int64_t l1 = task->device->l1 > 0 ? task->device->l1 : 32 << 10;
    int64_t units = s.kh * s.kw == 1 ? units_in(&d, l1 / 2) : 1;
    if (units < host_min(4, d.units))
        units = units_in(&d, l2 / (words_bytes(&d) > l2 / 2 ? 4 : 8));
    qconv_blocks_choose(task, &work, units, space, config);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    qconv_shape_of(task->call, &s);
    const direct d = direct_of(task, &s);
    const int m = optune_plan_module(plan);
    const qconv_work work = work_of(&d);
    const qconv_shares shares =
        qconv_shares_of(task, &work, optune_config_int(config, "blocks"));
    const int64_t units = host_ceil(d.units, shares.blocks); /* of a block, at most */
    const int64_t columns = block_columns(&d, units);
    const int64_t copy = host_ceil(block_bytes(&d, units), 64) * 16;
    const struct {
        const char *name;
        int64_t value;
    } number[] = {
        {"PAIRS", d.pairs},         {"COPIED", d.copied},      {"PASSES", d.passes},
        {"WORDS", d.words},         {"TAPS", d.taps},          {"RUN", d.run},
        {"RUN_WORDS", d.run_words}, {"COLUMNS", columns},      {"COPY", copy},
        {"TILE_ROWS", d.rows},      {"TILE_COLS", d.cols},     {"UNITS", d.units},
        {"PARTS", shares.parts},    {"BLOCKS", shares.blocks}, {"DOT_NV", d.nv},
    };
    qconv_define(plan, m, task, &d.s);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        optune_plan_define(plan, m, number[i].name, number[i].value);
    optune_plan_define_text(plan, m, "DTYPE", "int");
    const optune_arg packed =
        qconv_pack(task, plan, m, words_bytes(&d), d.s.groups * d.panels * d.nr);
    const int buffer = optune_plan_scratch(
        plan, "lines", d.copied ? copy * 4 * host_threads(task) : 64, false);
    optune_plan_stage(
        plan, &(optune_stage){.phase = OPTUNE_TIMED,
                              .module = m,
                              .function = "direct",
                              .n_args = 4,
                              .arg = {optune_input_arg(QCONV_DATA), packed,
                                      optune_output_arg(0), optune_scratch_arg(buffer)}});
}

OPTUNE_IMPL(quantized, direct) = {
    .op = "quantized_conv2d",
    .name = "quantized_conv2d_direct.cpu",
    .summary = "windows where they lie, in the data or in a copy of lines with what is padded",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
};
