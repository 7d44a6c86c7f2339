/* SPDX-License-Identifier: Apache-2.0 */
/* How scans are computed on GPUs. */
#include "optune/define.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "gpu", .rows = (const optune_strategy_row[])                         \
        {                                                                                      \
            {.impl = op_ "_team.gpu", .plevel = 11}, {.impl = op_ "_across.gpu"},              \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(scan, gpu) = {ROW("cumsum"), ROW("cumprod"), {0}};
