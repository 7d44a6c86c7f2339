/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on GPUs, unless they have a strategy of their own. */
#include "kernels/reduce/reduce_gpu.h"

static bool odd_rows(const optune_task *task, char *why)
{
    if (!gpu_applies(task, why) || !reduce_innermost(task, true, why))
        return false;
    const staged_rows rows = reduce_staged(task);
    return staged_rows_pay(task, &rows, why);
}

static bool other_rows(const optune_task *task, char *why)
{
    return !odd_rows(task, NULL) ||
           optune_refuse(why, "it is many odd rows, which has a row of its own");
}

OPTUNE_STRATEGY(reduce, gpu) = {
    .pattern = OPTUNE_REDUCTION,
    .key = "gpu",
    .rows =
        (const optune_strategy_row[]){
            {.impl = "staged.gpu", .plevel = 12, .condition = odd_rows},
            {.impl = "block.gpu"},
            {.impl = "staged.gpu", .plevel = 5, .condition = other_rows},
            {.impl = "across.gpu"},
            {0}},
};
