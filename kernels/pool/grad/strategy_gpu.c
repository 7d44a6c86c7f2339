/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of pooling on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(pool_grad, gpu) = {
    .family = "pool_grad",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "tiled.gpu", .plevel = 12},
                                          {.impl = "gather.gpu"},
                                          {0}},
};
