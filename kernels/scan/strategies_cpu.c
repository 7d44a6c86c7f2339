/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans on CPUs. Lanes want whole vectors: the plain loop is preferred where a line, or the
 * lines beside each other, are too short for them.
 */
#include "kernels/scan/scan_rows.h"

#define ROWS(op)                                                                               \
    (const optune_strategy_row[])                                                              \
    {                                                                                          \
        {.impl = op "_loop.cpu", .plevel = 8, .when = "width >= 4 || n >= 16"},                \
            {.impl = op "_loop.cpu", .plevel = 14, .when = "width < 4 && n < 16"},             \
            {.impl = op "_row.cpu", .plevel = 12, .when = "width == 1"},                       \
            {.impl = op "_columns.cpu", .plevel = 12, .when = "width > 1"},                    \
            {.impl = op "_sweep.cpu",                                                          \
             .plevel = 11,                                                                     \
             .when = "width > 1 && (width < 1024 || n < 1024)"},                               \
            {.impl = op "_sweep.cpu", .plevel = 13, .when = "width >= 1024 && n >= 1024"},     \
        {                                                                                      \
            .impl = NULL                                                                       \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(scan, cpu) = {
    {.op = "cumsum", .key = "cpu", .rows = ROWS("cumsum"), .dim = scan_dim},
    {.op = "cumprod", .key = "cpu", .rows = ROWS("cumprod"), .dim = scan_dim},
    {0},
};
