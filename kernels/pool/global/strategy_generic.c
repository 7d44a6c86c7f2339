/* SPDX-License-Identifier: Apache-2.0 */
/* global_avg_pool2d for a target that has no strategy of its own. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "global_avg_pool2d.cpu", .condition = host_on_cpu},
    {0},
};

OPTUNE_STRATEGY(pool_global,
                generic) = {.op = "global_avg_pool2d", .key = "generic", .rows = rows};
