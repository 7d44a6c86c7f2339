/* SPDX-License-Identifier: Apache-2.0 */
/* take on targets without a strategy of their own: anything that compiles C for a CPU. */
#include "kernels/host/host.h"

OPTUNE_STRATEGY(move_take, generic) = {
    .op = "take",
    .key = "generic",
    .rows = (const optune_strategy_row[]){{.impl = "take_rows.cpu", .condition = host_on_cpu},
                                          {0}},
};
