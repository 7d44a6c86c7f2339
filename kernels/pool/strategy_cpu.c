/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max_pool2d on CPUs: the same compute under schedules with knobs. Untuned, a separable pass is
 * never far off where windows overlap; the plain schedule is what computes everything.
 */
#include "kernels/pool/pool.h"

/* Where the ragged ends of rows weigh more than two copies of a plane. */
static bool small(const optune_task *task, char *why)
{
    pool_shape s;
    return (pool_forward_shape(task->call, &s) && s.x.in < 64) ||
           optune_refuse(why, "its rows are long");
}

static const optune_strategy_row rows[] = {
    {.impl = "max_pool2d_block.cpu", .plevel = 12},
    {.impl = "max_pool2d_flat.cpu", .plevel = 12, .condition = small},
    {.impl = "max_pool2d_rows.cpu", .plevel = 11},
    {.impl = "max_pool2d_direct.cpu", .plevel = 10},
    {.impl = "max_pool2d.generic", .plevel = 1},
    {0},
};

OPTUNE_STRATEGY(pool, cpu) = {.op = "max_pool2d", .key = "cpu", .rows = rows};
