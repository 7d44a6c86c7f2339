/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cumsum on targets without a strategy of their own: the plain loop, for anything that compiles C.
 */
#include "kernels/scan/scan_rows.h"

static const optune_strategy_row rows[] = {
    {.impl = "cumsum_loop.cpu", .condition = host_on_cpu},
    {.impl = NULL},
};

OPTUNE_STRATEGY(scan, generic) = {.op = "cumsum", .key = "generic", .rows = rows};
