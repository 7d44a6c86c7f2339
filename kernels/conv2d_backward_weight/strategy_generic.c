/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_backward_weight for a target that has no strategy of its own. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "conv2d_backward_weight_gemm.cpu", .condition = host_on_cpu},
    {0},
};

OPTUNE_STRATEGY(conv2d_backward_weight,
                generic) = {.op = "conv2d_backward_weight", .key = "generic", .rows = rows};
