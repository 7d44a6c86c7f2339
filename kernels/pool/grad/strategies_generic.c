/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of pooling for a target that has no strategy of its own. */
#include "kernels/host/host.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "generic", .rows = (const optune_strategy_row[])                     \
        {                                                                                      \
            {.impl = op_ ".cpu", .condition = host_on_cpu},                                    \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(pool_grad, generic) = {ROW("max_pool2d_grad"), ROW("avg_pool2d_grad"), {0}};
