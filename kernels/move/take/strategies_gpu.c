/* SPDX-License-Identifier: Apache-2.0 */
/* take, gather and scatter_add on GPUs. */
#include "optune/define.h"

#define ROW(op_, impl_)                                                                        \
    {                                                                                          \
        .op = op_, .key = "gpu", .rows = (const optune_strategy_row[])                         \
        {                                                                                      \
            {.impl = impl_},                                                                   \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(move_take, gpu) = {
    ROW("take", "take_rows.gpu"),
    ROW("gather", "gather_lines.gpu"),
    ROW("scatter_add", "scatter_add_atomic.cuda"),
    {0},
};
