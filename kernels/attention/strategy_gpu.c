/* SPDX-License-Identifier: Apache-2.0 */
/* attention on GPUs, CUDA's and OpenCL's: tensor cores where there are some, the keys split among
 * blocks for few queries. */
#include "kernels/attention/attention.h"

enum { FEW = 16 };

static bool few(const optune_task *task, char *why)
{
    attention_shape s;
    return (attention_shape_of(task->call, &s) && s.rows <= FEW) ||
           optune_refuse(why, "goes first for at most %d queries a key head", (int)FEW);
}

static const optune_strategy_row rows[] = {
    {.impl = "attention_tiles.gpu"},
    {.impl = "attention_split.gpu", .plevel = 22, .condition = few},
    {.impl = "attention_wgmma.cuda", .plevel = 19},
    {.impl = "attention_mma.cuda", .plevel = 20},
    {0},
};

OPTUNE_STRATEGY(attention, gpu) = {.op = "attention", .key = "gpu", .rows = rows};
