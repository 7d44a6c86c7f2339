/* SPDX-License-Identifier: Apache-2.0 */
/* How poolings are computed on GPUs. */
#include "optune/define.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "gpu", .rows = (const optune_strategy_row[])                         \
        {                                                                                      \
            {.impl = op_ "_window.gpu"},                                                       \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(pool, gpu) = {ROW("max_pool2d"), ROW("avg_pool2d"), {0}};
