/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_grad on CPUs. */
#include "optune/define.h"

static const optune_strategy_row rows[] = {
    {.impl = "avg_pool2d_grad.cpu"},
    {0},
};

OPTUNE_STRATEGY(avg_pool2d_grad, cpu) = {.op = "avg_pool2d_grad", .key = "cpu", .rows = rows};
