/* SPDX-License-Identifier: Apache-2.0 */
/* take on GPUs. */
#include "optune/define.h"

OPTUNE_STRATEGY(move_take, gpu) = {
    .op = "take",
    .key = "gpu",
    .rows = (const optune_strategy_row[]){{.impl = "take_rows.gpu"}, {0}},
};
