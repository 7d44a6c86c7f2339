/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avg_pool2d on CPUs: the same compute under schedules with knobs. Untuned, a separable pass is
 * never far off where windows overlap; the plain schedule is what computes everything.
 */
#include "optune/define.h"

static const optune_strategy_row rows[] = {
    {.impl = "avg_pool2d_block.cpu", .plevel = 12},
    {.impl = "avg_pool2d_rows.cpu", .plevel = 11},
    {.impl = "avg_pool2d_direct.cpu", .plevel = 10},
    {.impl = "avg_pool2d.generic", .plevel = 1},
    {0},
};

OPTUNE_STRATEGY(avg_pool2d, cpu) = {.op = "avg_pool2d", .key = "cpu", .rows = rows};
