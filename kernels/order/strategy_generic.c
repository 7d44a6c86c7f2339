/* SPDX-License-Identifier: Apache-2.0 */
/* sort on targets without a strategy of their own: what anything that compiles C can do. */
#include "kernels/order/order_rows.h"

static const optune_strategy_row rows[] = {
    {.impl = "sort_merge.cpu", .condition = host_on_cpu},
    {.impl = NULL},
};

OPTUNE_STRATEGY(order, generic) = {.op = "sort", .key = "generic", .rows = rows};
