/* SPDX-License-Identifier: Apache-2.0 */
/* topk on CPUs: which way pays for how long lines, and how many of them, untuned. */
#include "kernels/order/order_rows.h"

static const optune_strategy_row rows[] = {
    {.impl = "topk_merge.cpu", .plevel = 5},
    {.impl = "topk_radix.cpu", .plevel = 9},
    {.impl = "topk_quick.cpu", .plevel = 10},
    {.impl = "topk_filter.cpu", .plevel = 12, .when = "k * 4 <= n"},
    {.impl = "topk_lanes.cpu",
     .plevel = 13,
     .when = "k <= 8 && lines >= 16 && (n <= 512 || width >= 16)"},
    {.impl = NULL},
};

OPTUNE_STRATEGY(topk, cpu) = {.op = "topk", .key = "cpu", .rows = rows, .dim = order_dim};
