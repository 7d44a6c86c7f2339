/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on CPUs, unless they have a strategy of their own. */
#include "optune/define.h"

OPTUNE_STRATEGY(reduce, cpu) = {
    .pattern = OPTUNE_REDUCTION,
    .key = "cpu",
    .rows = (const optune_strategy_row[]){{.impl = "inner.cpu"}, {.impl = "outer.cpu"}, {0}},
};
