/* SPDX-License-Identifier: Apache-2.0 */
/* How max_pool2d_grad is computed on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(pool_grad, gpu) = {
    .op = "max_pool2d_grad",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "max_pool2d_grad_gather.gpu"}, {0}},
};
