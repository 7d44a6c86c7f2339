/* SPDX-License-Identifier: Apache-2.0 */
/* How softmax is computed on GPUs: what the axis is decides. */
#include "optune/define.h"

OPTUNE_STRATEGY(softmax, gpu) = {
    .op = "softmax",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "softmax_team.gpu"},
                                          {.impl = "softmax_across.gpu"},
                                          {0}},
};
