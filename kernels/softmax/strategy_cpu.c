/* SPDX-License-Identifier: Apache-2.0 */
/* softmax on CPUs: along contiguous rows where the axis is the last one, across them elsewhere. */
#include "optune/define.h"

static const optune_strategy_row rows[] = {
    {.impl = "softmax_rows.cpu", .plevel = 11},
    {.impl = "softmax_columns.cpu"},
    {0},
};

OPTUNE_STRATEGY(softmax, cpu) = {.op = "softmax", .key = "cpu", .rows = rows};
