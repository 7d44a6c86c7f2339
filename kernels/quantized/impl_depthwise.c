/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_depthwise_conv2d.cpu: a filter for each channel, vectors of channels. A word has what
 * lies above each other in a column, so that an instruction adds up to four rows of the kernel; a
 * row of columns is laid out once for all windows that meet it.
 */
#include "kernels/matmul/dot.h"
#include "kernels/quantized/conv.h"

/* BLOCK_BYTES of words of a column: vectors that are worked on together. */
enum { BLOCK_BYTES = 256, MOST_BYTES = 16 << 20 };

/* From the first column that an output row meets to the last. */
static int64_t columns_of(const conv2d_shape *s)
{
    return (s->ow - 1) * s->sw + (s->kw - 1) * s->dw + 1;
}

static int64_t block_bytes(const optune_task *task)
{
    return host_max(BLOCK_BYTES, host_vector_bytes(task));
}

static bool applies(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!qconv_applies(task, &s, why))
        return false;
    if (s.groups != s.ci || s.co != s.ci)
        return optune_refuse(why, "needs a group and a filter for each channel");
    if (s.kh * s.kw > 64)
        return optune_refuse(why, "a kernel of more than 64 taps");
    return columns_of(&s) <= MOST_BYTES / (block_bytes(task) * host_ceil(s.kh, 2)) ||
           optune_refuse(why, "a thread would lay out more than 16 MiB for an output row");
}

static bool four(const optune_task *task)
{
    return task->device->vector_bytes == 64 && task->device->dots & OPTUNE_DOT_I8;
}

static void space(const optune_task *task, optune_space *space)
{
    conv2d_shape s;
    qconv_shape_of(task->call, &s);
    const bool can = four(task) && !qconv_wide(task->call);
    optune_space_words(space, "step", can ? 2 : 1,
                       can ? (const char *const[]){"i8", "pairs"}
                           : (const char *const[]){"pairs"});
    optune_space_ints(space, "tile_ow", 4, (const int64_t[]){4, 1, 2, 8});
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    conv2d_shape s;
    qconv_shape_of(task->call, &s);
    const int m = optune_plan_module(plan);
    const bool pairs = strcmp(optune_config_word(config, "step"), "pairs") == 0;
    const int64_t lanes = host_vector_bytes(task) / 4;
    const int64_t channels = host_ceil(s.ci, lanes) * lanes;
    const int64_t words = host_ceil(s.kh, pairs ? 2 : 4);
    const int64_t columns = columns_of(&s), block = block_bytes(task) / 4;
    const int64_t line = (columns * block * words * 4 + 63) / 64 * 64;
    qconv_define(plan, m, task, &s);
    optune_plan_define_text(plan, m, "DTYPE", "int");
    optune_plan_define(plan, m, "PAIRS", pairs);
    optune_plan_define(plan, m, "CHANNELS", channels);
    optune_plan_define(plan, m, "COLUMNS", columns);
    optune_plan_define(plan, m, "BLOCK", block);
    optune_plan_define(plan, m, "LINE", line / 4);
    optune_plan_define(plan, m, "TILE_OW", optune_config_int(config, "tile_ow"));
    const optune_arg packed = qconv_pack(task, plan, m, words * s.kw * channels * 4, channels);
    const int lines = optune_plan_scratch(plan, "lines", line * host_threads(task), false);
    optune_plan_stage(
        plan, &(optune_stage){.phase = OPTUNE_TIMED,
                              .module = m,
                              .function = "depthwise",
                              .n_args = 4,
                              .arg = {optune_input_arg(QCONV_DATA), packed,
                                      optune_output_arg(0), optune_scratch_arg(lines)}});
}

OPTUNE_IMPL(quantized, depthwise) = {
    .op = "quantized_conv2d",
    .name = "quantized_depthwise_conv2d.cpu",
    .summary = "a filter for each channel, words of what lies above each other",
    .applies = applies,
    .space = space,
    .plan = plan,
};
