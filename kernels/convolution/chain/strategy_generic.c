/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise_depthwise_conv2d for a target that has no strategy of its own. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "pointwise_depthwise_conv2d.cpu", .condition = host_on_cpu},
    {0},
};

OPTUNE_STRATEGY(convolution_chain,
                generic) = {.op = "pointwise_depthwise_conv2d", .key = "generic", .rows = rows};
