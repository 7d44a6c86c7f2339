/* SPDX-License-Identifier: Apache-2.0 */
/* Images between their pixels, on any target: by the generic ones, which have no row. */
#include "optune/define.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "generic", .rows = (const optune_strategy_row[])                     \
        {                                                                                      \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(sample, generic) = {ROW("grid_sample"), ROW("roi_align"), {0}};
