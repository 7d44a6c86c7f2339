/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise_depthwise_conv2d on CPUs. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "pointwise_depthwise_conv2d_amx.x86", .plevel = 12},
    {.impl = "pointwise_depthwise_conv2d.cpu"},
    {0},
};

OPTUNE_STRATEGY(convolution_chain,
                cpu) = {.op = "pointwise_depthwise_conv2d", .key = "cpu", .rows = rows};
