/* SPDX-License-Identifier: Apache-2.0 */
/* global_avg_pool2d on CPUs. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "global_avg_pool2d.cpu"},
    {0},
};

OPTUNE_STRATEGY(pool_global, cpu) = {.op = "global_avg_pool2d", .key = "cpu", .rows = rows};
