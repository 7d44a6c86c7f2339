/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans on CPUs. Lanes want whole vectors: the plain loop is preferred where a line, or the
 * lines beside each other, are too short for them.
 */
#include "kernels/scan/scan_rows.h"

OPTUNE_STRATEGY(scan, cpu) = {
    .family = "scan",
    .key = "cpu",
    .rows =
        (const optune_strategy_row[]){
            {.impl = "loop.cpu", .plevel = 8, .when = "width >= 4 || n >= 16"},
            {.impl = "loop.cpu", .plevel = 14, .when = "width < 4 && n < 16"},
            {.impl = "row.cpu", .plevel = 12, .when = "width == 1"},
            {.impl = "columns.cpu", .plevel = 12, .when = "width > 1"},
            {.impl = "sweep.cpu",
             .plevel = 11,
             .when = "width > 1 && (width < 1024 || n < 1024)"},
            {.impl = "sweep.cpu", .plevel = 13, .when = "width >= 1024 && n >= 1024"},
            {0}},
    .dim = scan_dim,
};
