/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool2d_grad on CPUs. */
#include "optune/define.h"

static const optune_strategy_row rows[] = {
    {.impl = "max_pool2d_grad.cpu"},
    {0},
};

OPTUNE_STRATEGY(pool_grad, cpu) = {.op = "max_pool2d_grad", .key = "cpu", .rows = rows};
