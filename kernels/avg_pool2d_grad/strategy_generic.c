/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_grad for a target that has no strategy of its own. */
#include "kernels/host/host.h"

static const optune_strategy_row rows[] = {
    {.impl = "avg_pool2d_grad.cpu", .condition = host_on_cpu},
    {0},
};

OPTUNE_STRATEGY(avg_pool2d_grad,
                generic) = {.op = "avg_pool2d_grad", .key = "generic", .rows = rows};
