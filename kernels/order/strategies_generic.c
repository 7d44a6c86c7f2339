/* SPDX-License-Identifier: Apache-2.0 */
/* Ordering on targets without a strategy of their own: what anything that compiles C can do. */
#include "kernels/order/order_rows.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "generic", .rows = (const optune_strategy_row[])                     \
        {                                                                                      \
            {.impl = op_ "_merge.cpu", .condition = host_on_cpu},                              \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(order, generic) = {ROW("sort"), ROW("argsort"), ROW("topk"), {0}};
