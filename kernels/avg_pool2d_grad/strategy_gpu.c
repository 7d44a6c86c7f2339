/* SPDX-License-Identifier: Apache-2.0 */
/* How avg_pool2d_grad is computed on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(avg_pool2d_grad, gpu) = {
    .op = "avg_pool2d_grad",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "avg_pool2d_grad_gather.gpu"}, {0}},
};
