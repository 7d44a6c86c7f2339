/* SPDX-License-Identifier: Apache-2.0 */
/* attention on CPUs: tiles of queries where there are some, the keys split for one or a few. */
#include "kernels/attention/attention.h"

enum { FEW = 8 };

static bool few(const optune_task *task, char *why)
{
    attention_shape s;
    return (attention_shape_of(task->call, &s) && s.rows <= FEW) ||
           optune_refuse(why, "goes first for at most %d queries a key head", (int)FEW);
}

static const optune_strategy_row rows[] = {
    {.impl = "attention_split.cpu", .plevel = 12, .condition = few},
    {.impl = "attention_amx.x86", .plevel = 11},
    {.impl = "attention_tiles.cpu"},
    {0},
};

OPTUNE_STRATEGY(attention, cpu) = {.op = "attention", .key = "cpu", .rows = rows};
