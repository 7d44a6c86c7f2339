/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that only move values on GPUs, unless they have a strategy of their own. */
#include "kernels/move/moves_gpu.h"

OPTUNE_STRATEGY(move, gpu) = {
    .pattern = OPTUNE_INJECTIVE,
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "grid.gpu"},
                                          {.impl = "tiled.gpu", .plevel = 12},
                                          {.impl = "linear.gpu",
                                           .plevel = 11,
                                           .condition = moves_gpu_odd},
                                          {0}},
};
