/* SPDX-License-Identifier: Apache-2.0 */
/* How avg_pool2d is computed on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(avg_pool2d, gpu) = {
    .op = "avg_pool2d",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "avg_pool2d_window.gpu"}, {0}},
};
