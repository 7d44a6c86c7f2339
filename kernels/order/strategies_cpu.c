/* SPDX-License-Identifier: Apache-2.0 */
/* Ordering on CPUs: which way pays for how long lines, and how many of them, untuned. */
#include "kernels/order/order_rows.h"

/* From `radix` elements on digits win, up to `network` where many lines are sorted at once. */
#define ALL(op, radix, network)                                                                \
    (const optune_strategy_row[])                                                              \
    {                                                                                          \
        {.impl = op "_merge.cpu", .plevel = 5}, {.impl = op "_quick.cpu", .plevel = 10},       \
            {.impl = op "_radix.cpu", .plevel = 12, .when = "n > " radix},                     \
            {.impl = op "_radix.cpu", .plevel = 8, .when = "n <= " radix},                     \
            {.impl = op "_network.cpu",                                                        \
             .plevel = 13,                                                                     \
             .when = "n <= " network " && lines >= 8"},                                        \
        {                                                                                      \
            .impl = NULL                                                                       \
        }                                                                                      \
    }

static const optune_strategy_row best[] = {
    {.impl = "topk_merge.cpu", .plevel = 5},
    {.impl = "topk_radix.cpu", .plevel = 9},
    {.impl = "topk_quick.cpu", .plevel = 10},
    {.impl = "topk_filter.cpu", .plevel = 12, .when = "k * 4 <= n"},
    {.impl = "topk_lanes.cpu",
     .plevel = 13,
     .when = "k <= 8 && lines >= 16 && (n <= 512 || width >= 16)"},
    {0},
};

OPTUNE_STRATEGIES(order, cpu) = {
    {.op = "sort", .key = "cpu", .rows = ALL("sort", "4096", "128"), .dim = order_dim},
    {.op = "argsort", .key = "cpu", .rows = ALL("argsort", "2048", "64"), .dim = order_dim},
    {.op = "topk", .key = "cpu", .rows = best, .dim = order_dim},
    {0},
};
