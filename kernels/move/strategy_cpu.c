/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that only move values on CPUs, unless they have a strategy of their own. */
#include "optune/define.h"

OPTUNE_STRATEGY(move, cpu) = {
    .pattern = OPTUNE_INJECTIVE,
    .key = "cpu",
    .rows = (const optune_strategy_row[]){{.impl = "rows.cpu"},
                                          {.impl = "tiles.cpu", .plevel = 11},
                                          {0}},
};
