/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d on CPUs. Priority levels order the implementations untuned: a library that the target
 * names first, then what the shape's structure favours, then the direct convolution that computes
 * everything. Winograd is above it where its transforms surely pay, and below all elsewhere: there
 * it must win by measurement, as in TVM.
 */
#include "kernels/convolution/dots/dots.h"
#include "kernels/convolution/strategy_rows.h"

static bool depthwise(const optune_task *task, char *why)
{
    conv2d_shape s;
    return (conv2d_most_of(task->call, &s) && conv2d_is_depthwise(&s)) ||
           optune_refuse(why, "it is not depthwise");
}

/* Rows of several vectors: padding them in place costs less than two transpositions. */
static bool long_rows(const optune_task *task, char *why)
{
    conv2d_shape s;
    return (conv2d_most_of(task->call, &s) && conv2d_is_depthwise(&s) && s.data_block == 0 &&
            s.out_block == 0 && s.ow >= 2 * conv2d_lanes(task, &s)) ||
           optune_refuse(why, "it is not depthwise in NCHW with long rows");
}

static bool other_planes(const optune_task *task, char *why)
{
    if (long_rows(task, why))
        return optune_refuse(why, "its rows are long, which has a row of its own");
    return depthwise(task, why);
}

static bool winograd(const optune_task *task, conv2d_shape *s, char *why)
{
    return (conv2d_most_of(task->call, s) && s->groups == 1 && s->kh == 3 && s->kw == 3 &&
            s->sh <= 2 && s->sw <= 2 && s->dh == 1 && s->dw == 1) ||
           optune_refuse(why, "winograd needs a 3x3 kernel, strides of 1 or 2, no dilation "
                              "and one group");
}

/* Whether saved multiply-adds pay for transforms, and for reading code that no other layer has:
 * each thread has enough of them, more where the stride is 2, which saves less, of wider kernels,
 * and of 16-bit floats, which others may multiply as they are. Of points, which are up to nine
 * times as many as weights, each meets pixels enough. */
static bool pays(const optune_task *task, const conv2d_shape *s, char *why)
{
    const double pixels = (double)(s->n * s->oh * s->ow), pairs = (double)s->ci * (double)s->co;
    const double sums = pixels * pairs * (double)(s->kh * s->kw) / (double)host_threads(task);
    const bool plain =
        task->call->input[CONV2D_DATA].type.dtype.bits == 32 && s->kh * s->kw <= 9;
    const double least = s->sh * s->sw > 1 ? 64e6 : plain ? 4e6 : 8e6;
    if (!task->call->input[CONV2D_WEIGHT].is_const)
        return optune_refuse(why, "it would transform its weight in each run");
    if (pairs < 256)
        return optune_refuse(why, "%.0f pairs of channels, of 256 that pay", pairs);
    if (pixels < 128)
        return optune_refuse(why, "%.0f pixels meet each weight, of 128 that pay", pixels);
    return sums >= least ||
           optune_refuse(why, "%.1f M multiply-adds a thread, of %.0f M that pay", sums / 1e6,
                         least / 1e6);
}

static bool large_winograd(const optune_task *task, char *why)
{
    conv2d_shape s;
    return winograd(task, &s, why) && pays(task, &s, why);
}

static bool small_winograd(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (large_winograd(task, why))
        return optune_refuse(why, "it is large, which has a row of its own");
    return winograd(task, &s, why);
}

static bool is_1x1(const optune_task *task, char *why)
{
    conv2d_shape s;
    return (conv2d_most_of(task->call, &s) && s.kh == 1 && s.kw == 1) ||
           optune_refuse(why, "the kernel is not 1x1");
}

static bool winograd_rows(const optune_task *task, conv2d_shape *s, char *why)
{
    return (conv2d_most_of(task->call, s) && s->groups == 1 && s->kw >= 3 && s->kw <= 7 &&
            s->sw <= 2 && s->dh == 1 && s->dw == 1 && s->data_block == 0 &&
            (s->ci <= 16 || s->kw > 3)) ||
           optune_refuse(why,
                         "winograd along rows needs NCHW input, a kernel of 3 to 7 columns, "
                         "a column stride of 1 or 2, no dilation, one group and, with 3 "
                         "columns, at most 16 input channels");
}

static bool wide_over_few(const conv2d_shape *s)
{
    return s->kw >= 5 && s->ci <= 4 && s->co >= 32 && s->ow >= 32;
}

/* A wide kernel over an image's few channels: half of the multiplications, and cheap transforms. */
static bool first_layer(const optune_task *task, char *why)
{
    conv2d_shape s;
    return (winograd_rows(task, &s, why) && wide_over_few(&s)) ||
           optune_refuse(why, "it is no wide kernel over up to 4 channels");
}

/* Small kernels over an image's few channels: a direct convolution adds too little to each of its
 * sums to pay for storing them; a product of matrices has the same terms in larger tiles. */
static bool few_terms(const optune_task *task, char *why)
{
    conv2d_shape s;
    const bool along_rows = winograd_rows(task, &s, why);
    return (!(along_rows && wide_over_few(&s)) && s.groups == 1 && s.data_block == 0 &&
            s.out_block == 0 && s.kh * s.kw > 1 && s.ci * s.kh * s.kw <= 64 && s.co >= 16 &&
            s.ow >= 32) ||
           optune_refuse(why, "it is no small kernel over few channels");
}

static bool more_terms(const optune_task *task, char *why)
{
    return !few_terms(task, why) ||
           optune_refuse(why, "it adds few terms, which has a row of its own");
}

/* A wide kernel of several rows, which share what transforms cost. */
static bool large_rows(const optune_task *task, char *why)
{
    conv2d_shape s;
    return winograd_rows(task, &s, why) &&
           ((s.kh >= 5 && s.kw >= 5 && !wide_over_few(&s)) ||
            optune_refuse(why, "it has no wide kernel, or a row of its own")) &&
           pays(task, &s, why);
}

static bool other_rows(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (first_layer(task, why) || large_rows(task, why))
        return optune_refuse(why, "it has a row of its own");
    return winograd_rows(task, &s, why);
}

/* Tiles need rows and columns to fill, a weight that is split once, and output channels enough to
 * pay for splitting the data. Larger kernels also compute pixels between rows of a padded plane,
 * and lose where the core is shared, as loads of tiles then take three times as long: they must win
 * by measurement. */
static bool fills_tiles(const optune_task *task, char *why)
{
    conv2d_shape s;
    return (conv2d_most_of(task->call, &s) && task->call->input[CONV2D_WEIGHT].is_const &&
            s.kh * s.kw == 1 && s.co_g >= 64 && s.ci_g >= 64 && s.oh * s.ow >= 32) ||
           optune_refuse(why, "tiles want a 1x1 kernel, 64 channels of a group, 64 channels of "
                              "output, 32 pixels and a const weight");
}

static bool other_tiles(const optune_task *task, char *why)
{
    return !fills_tiles(task, why) ||
           optune_refuse(why, "it fills tiles, which has a row of its own");
}

/* Narrow numbers by what multiplies them as they are; others widen a weight once, or in each run
 * where it is not constant. Words of few channels are laid out for few products. */
static bool stays_narrow(const optune_task *task, char *why)
{
    const optune_dtype in = dots_in(task);
    conv2d_shape s;
    if (in.bits == 16 && few_terms(task, why) && conv2d_most_of(task->call, &s) && s.ci_g < 4)
        return optune_refuse(why, "it adds few terms of few channels");
    return dot_best(task, in) != dot_any(in) || !task->call->input[CONV2D_WEIGHT].is_const ||
           optune_refuse(why, "this processor widens what it multiplies");
}

static bool widens(const optune_task *task, char *why)
{
    return !stays_narrow(task, why) || optune_refuse(why, "which has a row of its own");
}

/* Pixels fill the columns of tiles. */
static bool as_it_lies(const optune_task *task, char *why)
{
    conv2d_shape s;
    return (conv2d_most_of(task->call, &s) && s.oh * s.ow >= 128) ||
           optune_refuse(why, "less than 128 pixels leave columns of its tiles empty");
}

static const optune_strategy_row rows[] = {
    {.impl = "depthwise_conv2d_planes.cpu", .plevel = 14, .condition = long_rows},
    {.impl = "depthwise_conv2d.cpu", .plevel = 14, .condition = depthwise},
    {.impl = "depthwise_conv2d_planes.cpu", .plevel = 8, .condition = other_planes},
    {.impl = "conv2d_winograd_rows.cpu", .plevel = 13, .condition = first_layer},
    {.impl = "conv2d_im2col.cpu", .plevel = 12, .condition = few_terms},
    {.impl = "conv2d_1x1.cpu", .plevel = 12, .condition = is_1x1},
    {.impl = "conv2d_winograd.cpu", .plevel = 12, .condition = large_winograd},
    {.impl = "conv2d_winograd_rows.cpu", .plevel = 12, .condition = large_rows},
    {.impl = "conv2d_direct.cpu", .plevel = 11},
    {.impl = "conv2d_dot.cpu", .plevel = 13, .condition = stays_narrow},
    {.impl = "conv2d_dot.cpu", .plevel = 9, .condition = widens},
    {.impl = "conv2d_1x1_amx.x86", .plevel = 15, .condition = as_it_lies},
    {.impl = "conv2d_amx.x86", .plevel = 14},
    {.impl = "conv2d_split.x86", .plevel = 13, .condition = fills_tiles},
    {.impl = "conv2d_split.x86", .plevel = 3, .condition = other_tiles},
    {.impl = "conv2d_split_planes.x86", .plevel = 3},
    {.impl = "conv2d_NCHWc.x86", .plevel = 10},
    {.impl = "conv2d_im2col.cpu", .plevel = 6, .condition = more_terms},
    {.impl = "conv2d_winograd.cpu", .plevel = 5, .condition = small_winograd},
    {.impl = "conv2d_winograd_rows.cpu", .plevel = 4, .condition = other_rows},
    {.impl = "conv2d_dnnl.x86", .plevel = 15},
    {0},
};

OPTUNE_STRATEGY(convolution,
                cpu) = {.op = "conv2d", .key = "cpu", .rows = rows, .dim = conv2d_dim};
