/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise and broadcast ops on GPUs, unless they have a strategy of their own. */
#include "optune/define.h"

OPTUNE_STRATEGY(elementwise, gpu) = {
    .pattern = OPTUNE_BROADCAST,
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "grid.gpu"}, {0}},
};
