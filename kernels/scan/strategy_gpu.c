/* SPDX-License-Identifier: Apache-2.0 */
/* How cumsum is computed on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(scan, gpu) = {
    .op = "cumsum",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "cumsum_team.gpu", .plevel = 11},
                                          {.impl = "cumsum_across.gpu"},
                                          {0}},
};
