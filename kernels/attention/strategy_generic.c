/* SPDX-License-Identifier: Apache-2.0 */
/* attention for a target that has no strategy of its own. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "attention_tiles.cpu", .condition = host_on_cpu},
    {0},
};

OPTUNE_STRATEGY(attention, generic) = {.op = "attention", .key = "generic", .rows = rows};
