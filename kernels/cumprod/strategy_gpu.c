/* SPDX-License-Identifier: Apache-2.0 */
/* How cumprod is computed on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(cumprod, gpu) = {
    .op = "cumprod",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "cumprod_team.gpu", .plevel = 11},
                                          {.impl = "cumprod_across.gpu"},
                                          {0}},
};
