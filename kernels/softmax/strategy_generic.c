/* SPDX-License-Identifier: Apache-2.0 */
/* softmax for a target that has no strategy of its own. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "softmax_columns.cpu", .condition = host_on_cpu},
    {0},
};

OPTUNE_STRATEGY(softmax, generic) = {.op = "softmax", .key = "generic", .rows = rows};
