/* SPDX-License-Identifier: Apache-2.0 */
/* How max_pool2d is computed on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(pool, gpu) = {
    .op = "max_pool2d",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "max_pool2d_window.gpu"}, {0}},
};
