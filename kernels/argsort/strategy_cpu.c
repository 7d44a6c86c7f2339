/* SPDX-License-Identifier: Apache-2.0 */
/* argsort on CPUs: which way pays for how long lines, and how many of them, untuned. */
#include "kernels/order/order_rows.h"

static const optune_strategy_row rows[] = {
    {.impl = "argsort_merge.cpu", .plevel = 5},
    {.impl = "argsort_quick.cpu", .plevel = 10},
    {.impl = "argsort_radix.cpu", .plevel = 12, .when = "n > 2048"},
    {.impl = "argsort_radix.cpu", .plevel = 8, .when = "n <= 2048"},
    {.impl = "argsort_network.cpu", .plevel = 13, .when = "n <= 64 && lines >= 8"},
    {.impl = NULL},
};

OPTUNE_STRATEGY(argsort, cpu) = {.op = "argsort", .key = "cpu", .rows = rows, .dim = order_dim};
