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

#define ROWS(prefix)                                                                           \
    {.impl = prefix "block.cpu", .plevel = 12},                                                \
        {.impl = prefix "flat.cpu", .plevel = 12, .condition = small},                         \
        {.impl = prefix "rows.cpu", .plevel = 11},                                             \
    {                                                                                          \
        .impl = prefix "direct.cpu", .plevel = 10                                              \
    }

static const optune_strategy_row all[] = {ROWS(""), {.impl = ".generic", .plevel = 1}, {0}};

static const optune_strategy_row largest[] = {{.impl = "max_pool2d_bytes.cpu", .plevel = 12},
                                              ROWS("max_pool2d_"),
                                              {.impl = "max_pool2d.generic", .plevel = 1},
                                              {0}};

OPTUNE_STRATEGIES(pool, cpu) = {
    {.family = "pool", .key = "cpu", .rows = all},
    {.op = "max_pool2d", .key = "cpu", .rows = largest},
    {0},
};
