/* SPDX-License-Identifier: Apache-2.0 */
/* Scans on targets without a strategy of their own: the plain loop, for anything that compiles
 * C. */
#include "kernels/scan/scan_rows.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "generic", .rows = (const optune_strategy_row[])                     \
        {                                                                                      \
            {.impl = op_ "_loop.cpu", .condition = host_on_cpu},                               \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(scan, generic) = {ROW("cumsum"), ROW("cumprod"), {0}};
