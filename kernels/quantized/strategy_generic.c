/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_conv2d on targets without a strategy of their own: for anything that compiles C. */
#include "kernels/quantized/conv.h"

static const optune_strategy_row rows[] = {
    {.impl = "quantized_conv2d_gemm.cpu", .condition = host_on_cpu},
    {0},
};

OPTUNE_STRATEGY(quantized,
                generic) = {.op = "quantized_conv2d", .key = "generic", .rows = rows};
