/* SPDX-License-Identifier: Apache-2.0 */
/* How sort is computed on GPUs: what fits in shared memory is sorted there. */
#include "optune/define.h"

OPTUNE_STRATEGY(order, gpu) = {
    .op = "sort",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "sort_bitonic.gpu", .plevel = 12},

                                          {.impl = "sort_runs.gpu"},
                                          {0}},
};
