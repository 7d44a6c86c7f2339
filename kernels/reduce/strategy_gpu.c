/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on GPUs, unless they have a strategy of their own. */
#include "optune/define.h"

OPTUNE_STRATEGY(reduce, gpu) = {
    .pattern = OPTUNE_REDUCTION,
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "block.gpu"}, {.impl = "across.gpu"}, {0}},
};
