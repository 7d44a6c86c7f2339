/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise and broadcast ops on CPUs, unless they have a strategy of their own. */
#include "optune/define.h"

OPTUNE_STRATEGY(elementwise, cpu) = {
    .pattern = OPTUNE_BROADCAST,
    .key = "cpu",
    .rows = (const optune_strategy_row[]){{.impl = "vector.cpu"}, {0}},
};
