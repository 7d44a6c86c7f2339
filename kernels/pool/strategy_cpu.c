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

OPTUNE_STRATEGY(pool, cpu) = {
    .family = "pool",
    .key = "cpu",
    .rows =
        (const optune_strategy_row[]){{.impl = "block.cpu", .plevel = 12},
                                      {.impl = "bytes.cpu", .plevel = 12},
                                      {.impl = "flat.cpu", .plevel = 12, .condition = small},
                                      {.impl = "rows.cpu", .plevel = 11},
                                      {.impl = "direct.cpu", .plevel = 10},
                                      {.impl = ".generic", .plevel = 1},
                                      {0}},
};
