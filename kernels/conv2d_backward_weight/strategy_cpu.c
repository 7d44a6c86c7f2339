/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_backward_weight on CPUs. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "conv2d_backward_weight_gemm.cpu"},
    {0},
};

OPTUNE_STRATEGY(conv2d_backward_weight,
                cpu) = {.op = "conv2d_backward_weight", .key = "cpu", .rows = rows};
