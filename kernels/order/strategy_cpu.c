/* SPDX-License-Identifier: Apache-2.0 */
/* sort on CPUs: which way pays for how long lines, and how many of them, untuned. */
#include "kernels/order/order_rows.h"

static const optune_strategy_row rows[] = {
    {.impl = "sort_merge.cpu", .plevel = 5},
    {.impl = "sort_quick.cpu", .plevel = 10},
    {.impl = "sort_radix.cpu", .plevel = 12, .when = "n > 4096"},
    {.impl = "sort_radix.cpu", .plevel = 8, .when = "n <= 4096"},
    {.impl = "sort_network.cpu", .plevel = 13, .when = "n <= 128 && lines >= 8"},
    {.impl = NULL},
};

OPTUNE_STRATEGY(order, cpu) = {.op = "sort", .key = "cpu", .rows = rows, .dim = order_dim};
