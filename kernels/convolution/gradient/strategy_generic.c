/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_transpose for a target that has no strategy of its own. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "conv2d_transpose_gemm.cpu", .condition = host_on_cpu},
    {0},
};

OPTUNE_STRATEGY(convolution_gradient, generic) = {.op = "conv2d_transpose", .key = "generic", .rows = rows};
