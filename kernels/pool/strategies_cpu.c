/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Poolings on CPUs: the same compute under schedules with knobs. Untuned, a separable pass is
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

#define ROWS(op)                                                                               \
    (const optune_strategy_row[])                                                              \
    {                                                                                          \
        {.impl = op "_block.cpu", .plevel = 12},                                               \
            {.impl = op "_flat.cpu", .plevel = 12, .condition = small},                        \
            {.impl = op "_rows.cpu", .plevel = 11}, {.impl = op "_direct.cpu", .plevel = 10},  \
            {.impl = op ".generic", .plevel = 1},                                              \
        {                                                                                      \
            .impl = NULL                                                                       \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(pool, cpu) = {
    {.op = "max_pool2d", .key = "cpu", .rows = ROWS("max_pool2d")},
    {.op = "avg_pool2d", .key = "cpu", .rows = ROWS("avg_pool2d")},
    {0},
};
