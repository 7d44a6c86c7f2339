/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d on GPUs, CUDA's and OpenCL's, with Relay's priority levels: the direct convolution 10,
 * winograd 5 below it, so that it must win by measurement, and cuDNN 25 when the target names it.
 * The implicit product lies above the direct one: its untuned tile suits every shape, while
 * the other's tiles must divide it. Warpgroups are first where channels fill their panels, 22, and
 * below all of them where they do not, 8.
 */
#include "kernels/convolution/implicit/implicit_mma_rows.h"
#include "kernels/convolution/strategy_rows.h"
#include "kernels/matmul/gpu/matmul_gpu_wgmma.h"

/* Relay's: square kernels of 3 to 7, stride and dilation 1, one group. Ours computes 3x3 of
 * them. */
static bool winograd(const optune_task *task, char *why)
{
    conv2d_shape s;
    return (conv2d_shape_of(task->call, &s) && s.groups == 1 && s.kh == s.kw && s.kh > 2 &&
            s.kh < 8 && s.sh == 1 && s.sw == 1 && s.dh == 1 && s.dw == 1) ||
           optune_refuse(why, "winograd needs a square kernel of 3 to 7, strides and dilation "
                              "of 1 and one group");
}

static bool depthwise(const optune_task *task, char *why)
{
    conv2d_shape s;
    return (conv2d_shape_of(task->call, &s) && conv2d_is_depthwise(&s)) ||
           optune_refuse(why, "it is not depthwise");
}

/* So many taps that their arithmetic shows beside memory. */
static bool depthwise_of_many_taps(const optune_task *task, char *why)
{
    conv2d_shape s;
    return depthwise(task, why) && conv2d_shape_of(task->call, &s) &&
           (s.kh * s.kw >= 49 || optune_refuse(why, "few taps, which have a row of their own"));
}

static bool depthwise_of_few_taps(const optune_task *task, char *why)
{
    return depthwise(task, why) &&
           (!depthwise_of_many_taps(task, NULL) ||
            optune_refuse(why, "many taps, which have a row of their own"));
}

/* Many taps, and rows that fall into no vectors. */
static bool depthwise_of_odd_rows(const optune_task *task, char *why)
{
    conv2d_shape s;
    return depthwise_of_many_taps(task, why) && conv2d_shape_of(task->call, &s) &&
           ((s.sh == 1 && s.sw == 1) || optune_refuse(why, "windows share little")) &&
           (s.w % 4 || s.ow % 4 || optune_refuse(why, "its rows are vectors of four"));
}

static bool depthwise_of_whole_rows(const optune_task *task, char *why)
{
    return depthwise(task, why) &&
           (!depthwise_of_odd_rows(task, NULL) ||
            optune_refuse(why, "many taps and rows that are no vectors, which have a row of "
                               "their own"));
}

static bool other_shapes(const optune_task *task, char *why)
{
    return !implicit_mma_divides(task, NULL) ||
           optune_refuse(why, "it falls into fragments, which has a row of its own");
}

/* Half of the depth, or more, is channels: the rest of a panel is zeros. */
static bool fills_panels(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_shape_of(task->call, &s))
        return optune_refuse(why, "needs constant shapes");
    const int64_t size = implicit_mma_size(task->call);
    if (size == 0)
        return optune_refuse(why, "no tensor core takes its element types");
    const int64_t panel = MATMUL_GPU_WGMMA_ROW / size;
    return host_ceil(s.ci, panel) * panel <= 2 * s.ci ||
           optune_refuse(why, "more than half of a panel of depth has no channels");
}

static bool wastes_panels(const optune_task *task, char *why)
{
    return !fills_panels(task, NULL) ||
           optune_refuse(why, "its channels fill panels, which has a row of its own");
}

static const optune_strategy_row rows[] = {
    {.impl = "conv2d_wgmma.cuda", .plevel = 22, .condition = fills_panels},
    {.impl = "conv2d_wgmma.cuda", .plevel = 8, .condition = wastes_panels},
    {.impl = "conv2d_implicit_gemm_mma.cuda", .plevel = 20, .condition = implicit_mma_divides},
    {.impl = "conv2d_implicit_gemm_mma.cuda", .plevel = 9, .condition = other_shapes},
    {.impl = "depthwise_conv2d_mma.cuda", .plevel = 23, .condition = depthwise_of_many_taps},
    {.impl = "depthwise_conv2d_mma.cuda", .plevel = 13, .condition = depthwise_of_few_taps},
    {.impl = "depthwise_conv2d_staged.gpu", .plevel = 22, .condition = depthwise_of_odd_rows},
    {.impl = "depthwise_conv2d_staged.gpu", .plevel = 12, .condition = depthwise_of_whole_rows},
    {.impl = "depthwise_conv2d_strips.gpu", .plevel = 21, .condition = depthwise},
    {.impl = "depthwise_conv2d_nchw.cuda", .plevel = 14, .condition = depthwise},
    {.impl = "conv2d_implicit_gemm.gpu", .plevel = 11},
    {.impl = "conv2d_nchw.cuda", .plevel = 10},
    {.impl = "conv2d_winograd.gpu", .plevel = 5, .condition = winograd},
    {.impl = "conv2d_cudnn.cuda", .plevel = 25},
    {0},
};

OPTUNE_STRATEGY(convolution,
                gpu) = {.op = "conv2d", .key = "gpu", .rows = rows, .dim = conv2d_dim};
