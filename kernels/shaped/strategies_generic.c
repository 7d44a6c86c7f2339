/* SPDX-License-Identifier: Apache-2.0 */
/* Operators shaped by values, on any target: by their generic ones, which have no row. */
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

OPTUNE_STRATEGIES(shaped, generic) = {ROW("argwhere"),
                                      ROW("unique"),
                                      ROW("compress"),
                                      ROW("arange"),
                                      ROW("dyn_strided_slice"),
                                      ROW("non_max_suppression"),
                                      {0}};
