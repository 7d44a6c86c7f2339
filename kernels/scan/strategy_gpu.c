/* SPDX-License-Identifier: Apache-2.0 */
/* How scans are computed on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(scan, gpu) = {
    .family = "scan",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "lookback.cuda", .plevel = 13},
                                          {.impl = "lookback_across.cuda", .plevel = 12},
                                          {.impl = "team.gpu", .plevel = 11},
                                          {.impl = "across.gpu"},
                                          {0}},
};
