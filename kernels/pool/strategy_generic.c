/* SPDX-License-Identifier: Apache-2.0 */
/* Poolings for a target that does not override their schedule: the plain one. */
#include "kernels/host/host.h"

OPTUNE_STRATEGY(pool, generic) = {
    .family = "pool",
    .key = "generic",
    .rows = (const optune_strategy_row[]){{.impl = ".generic", .condition = host_on_cpu}, {0}},
};
