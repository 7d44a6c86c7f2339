/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_transpose on CPUs. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "conv2d_transpose_gemm.cpu"},
    {0},
};

OPTUNE_STRATEGY(convolution_gradient, cpu) = {.op = "conv2d_transpose", .key = "cpu", .rows = rows};
