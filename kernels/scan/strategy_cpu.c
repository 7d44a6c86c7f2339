/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cumsum on CPUs. Lanes want whole vectors: the plain loop is preferred where a line, or the
 * lines beside each other, are too short for them.
 */
#include "kernels/scan/scan_rows.h"

static const optune_strategy_row rows[] = {
    {.impl = "cumsum_loop.cpu", .plevel = 8, .when = "width >= 4 || n >= 16"},
    {.impl = "cumsum_loop.cpu", .plevel = 14, .when = "width < 4 && n < 16"},
    {.impl = "cumsum_row.cpu", .plevel = 12, .when = "width == 1"},
    {.impl = "cumsum_columns.cpu", .plevel = 12, .when = "width > 1"},
    {.impl = "cumsum_sweep.cpu",
     .plevel = 11,
     .when = "width > 1 && (width < 1024 || n < 1024)"},
    {.impl = "cumsum_sweep.cpu", .plevel = 13, .when = "width >= 1024 && n >= 1024"},
    {.impl = NULL},
};

OPTUNE_STRATEGY(scan, cpu) = {.op = "cumsum", .key = "cpu", .rows = rows, .dim = scan_dim};
