/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_reduce on any target: by the generic one, which has no row. */
#include "optune/define.h"

OPTUNE_STRATEGY(move_take, scatter_reduce) = {
    .op = "scatter_reduce", .key = "generic", .rows = (const optune_strategy_row[]){{0}}};
