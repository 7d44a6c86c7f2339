/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d for a target that does not override its schedule: the plain one. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "avg_pool2d.generic", .condition = host_on_cpu},
    {0},
};

OPTUNE_STRATEGY(avg_pool2d, generic) = {.op = "avg_pool2d", .key = "generic", .rows = rows};
