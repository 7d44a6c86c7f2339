/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_conv2d on CPUs: vectors of channels where each has a filter, else products. */
#include "kernels/quantized/conv.h"

static const optune_strategy_row rows[] = {
    {.impl = "quantized_depthwise_conv2d.cpu", .plevel = 12},
    {.impl = "quantized_conv2d_gemm.cpu", .plevel = 10},
    {0},
};

OPTUNE_STRATEGY(quantized, cpu) = {.op = "quantized_conv2d", .key = "cpu", .rows = rows};
