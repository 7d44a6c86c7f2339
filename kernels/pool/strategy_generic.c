/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d for a target that does not override its schedule: the plain one. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "max_pool2d.generic", .condition = host_on_cpu},
    {0},
};

OPTUNE_STRATEGY(pool, generic) = {.op = "max_pool2d", .key = "generic", .rows = rows};
