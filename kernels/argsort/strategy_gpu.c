/* SPDX-License-Identifier: Apache-2.0 */
/* How argsort is computed on GPUs: what fits in shared memory is sorted there. */
#include "optune/define.h"

OPTUNE_STRATEGY(argsort, gpu) = {
    .op = "argsort",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "argsort_bitonic.gpu", .plevel = 12},

                                          {.impl = "argsort_runs.gpu"},
                                          {0}},
};
