/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cumprod on targets without a strategy of their own: the plain loop, for anything that compiles C.
 */
#include "kernels/scan/scan_rows.h"

static const optune_strategy_row rows[] = {
    {.impl = "cumprod_loop.cpu", .condition = host_on_cpu},
    {.impl = NULL},
};

OPTUNE_STRATEGY(cumprod, generic) = {.op = "cumprod", .key = "generic", .rows = rows};
