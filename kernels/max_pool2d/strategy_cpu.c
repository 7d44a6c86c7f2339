/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max_pool2d on CPUs: the same compute under schedules with knobs. Untuned, a separable pass is
 * never far off where windows overlap; the plain schedule is what computes everything.
 */
#include "optune/define.h"

static const optune_strategy_row rows[] = {
    {.impl = "max_pool2d_block.cpu", .plevel = 12},
    {.impl = "max_pool2d_rows.cpu", .plevel = 11},
    {.impl = "max_pool2d_direct.cpu", .plevel = 10},
    {.impl = "max_pool2d.generic", .plevel = 1},
    {0},
};

OPTUNE_STRATEGY(max_pool2d, cpu) = {.op = "max_pool2d", .key = "cpu", .rows = rows};
