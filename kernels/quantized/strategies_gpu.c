/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantised operators on GPUs, CUDA's and OpenCL's: channels that have a filter each go by
 * themselves, else products, on tensor cores where there are.
 */
#include "kernels/quantized/conv.h"

static bool depthwise(const optune_task *task, char *why)
{
    conv2d_shape s;
    return (qconv_shape_of(task->call, &s) && s.groups == s.ci && s.co == s.ci) ||
           optune_refuse(why, "it is not depthwise");
}

static const optune_strategy_row conv[] = {
    {.impl = "quantized_depthwise_conv2d.gpu", .plevel = 14, .condition = depthwise},
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
