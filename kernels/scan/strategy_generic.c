/* SPDX-License-Identifier: Apache-2.0 */
/* Scans on targets without a strategy of their own: the plain loop, for anything that compiles
 * C. */
#include "kernels/scan/scan_rows.h"

OPTUNE_STRATEGY(scan, generic) = {
    .family = "scan",
    .key = "generic",
    .rows = (const optune_strategy_row[]){{.impl = "loop.cpu", .condition = host_on_cpu}, {0}},
};
