/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter_add on targets without a strategy of their own: anything that compiles C for a
 * CPU. */
#include "kernels/host/host.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "generic", .rows = (const optune_strategy_row[])                     \
        {                                                                                      \
            {.impl = op_ "_lines.cpu", .condition = host_on_cpu},                              \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(move_take, generic) = {ROW("gather"), ROW("scatter_add"), {0}};
