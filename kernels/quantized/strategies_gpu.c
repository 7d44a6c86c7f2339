/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantised operators on GPUs, CUDA's and OpenCL's: channels that have a filter each go by
 * themselves, else products, on tensor cores where there are. Warpgroups are first where channels
 * fill their panels of depth, 13, and below all of them where they do not, 8: nothing has measured
 * it, but by arithmetic they multiply 1.5 times as fast as single warps.
 */
#include "kernels/convolution/implicit/implicit_wgmma.h"
#include "kernels/quantized/gpu/conv_gpu.h"

static bool depthwise(const optune_task *task, char *why)
{
    conv2d_shape s;
    return (qconv_shape_of(task->call, &s) && s.groups == s.ci && s.co == s.ci) ||
           optune_refuse(why, "it is not depthwise");
}

/* Two thirds of the depth, or more, are channels: the rest of a panel is zeros. */
static bool fills_panels(const optune_task *task, char *why)
{
    qconv_gpu q;
    if (!qconv_gpu_of(task->call, &q))
        return optune_refuse(why, "needs constant shapes");
    return implicit_wgmma_panels(1, q.s.ci, 1) * MATMUL_GPU_WGMMA_ROW * 2 <= q.s.ci * 3 ||
           optune_refuse(why, "more than a third of a panel of depth has no channels");
}

static bool wastes_panels(const optune_task *task, char *why)
{
    return !fills_panels(task, NULL) ||
           optune_refuse(why, "its channels fill panels, which has a row of its own");
}

static const optune_strategy_row conv[] = {
    {.impl = "quantized_depthwise_conv2d.gpu", .plevel = 14, .condition = depthwise},
    {.impl = "quantized_conv2d_wgmma.cuda", .plevel = 13, .condition = fills_panels},
    {.impl = "quantized_conv2d_wgmma.cuda", .plevel = 8, .condition = wastes_panels},
    {.impl = "quantized_conv2d_mma.cuda", .plevel = 12},
    {.impl = "quantized_conv2d_tile.gpu", .plevel = 10},
    {0},
};

static const optune_strategy_row add[] = {{.impl = "quantized_add.gpu"}, {0}};
static const optune_strategy_row multiply[] = {{.impl = "quantized_multiply.gpu"}, {0}};

OPTUNE_STRATEGIES(quantized, gpu) = {
    {.op = "quantized_conv2d", .key = "gpu", .rows = conv},
    {.op = "quantized_add", .key = "gpu", .rows = add},
    {.op = "quantized_multiply", .key = "gpu", .rows = multiply},
    {0},
};
