/* SPDX-License-Identifier: Apache-2.0 */
/* How topk is computed on GPUs: what fits in shared memory is sorted there. */
#include "optune/define.h"

OPTUNE_STRATEGY(topk, gpu) = {
    .op = "topk",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "topk_bitonic.gpu", .plevel = 12},
                                          {.impl = "topk_rounds.gpu", .plevel = 11},
                                          {.impl = "topk_runs.gpu"},
                                          {0}},
};
