/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of pooling on CPUs. */
#include "optune/define.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "cpu", .rows = (const optune_strategy_row[])                         \
        {                                                                                      \
            {.impl = op_ ".cpu"},                                                              \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(pool_grad, cpu) = {ROW("max_pool2d_grad"), ROW("avg_pool2d_grad"), {0}};
