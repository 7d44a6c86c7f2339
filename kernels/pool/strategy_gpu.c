/* SPDX-License-Identifier: Apache-2.0 */
/* How poolings are computed on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(pool, gpu) = {
    .family = "pool",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "window.gpu"}, {0}},
};
