/* SPDX-License-Identifier: Apache-2.0 */
/* How gradients of pooling are computed on GPUs. */
#include "optune/define.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "gpu", .rows = (const optune_strategy_row[])                         \
        {                                                                                      \
            {.impl = op_ "_gather.gpu"},                                                       \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(pool_grad, gpu) = {ROW("max_pool2d_grad"), ROW("avg_pool2d_grad"), {0}};
