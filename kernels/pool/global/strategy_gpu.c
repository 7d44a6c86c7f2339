/* SPDX-License-Identifier: Apache-2.0 */
/* How global_avg_pool2d is computed on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(pool_global, gpu) = {
    .op = "global_avg_pool2d",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "global_avg_pool2d_block.gpu"}, {0}},
};
