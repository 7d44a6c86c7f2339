/* SPDX-License-Identifier: Apache-2.0 */
/* Poolings for a target that does not override their schedule: the plain one. */
#include "kernels/host/host.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "generic", .rows = (const optune_strategy_row[])                     \
        {                                                                                      \
            {.impl = op_ ".generic", .condition = host_on_cpu},                                \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(pool, generic) = {ROW("max_pool2d"), ROW("avg_pool2d"), {0}};
