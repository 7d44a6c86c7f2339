/* SPDX-License-Identifier: Apache-2.0 */
/* How global_avg_pool2d is computed on GPUs: many planes of odd sizes go through shared memory. */
#include "kernels/pool/global/global_gpu.h"

static bool odd_planes(const optune_task *task, char *why)
{
    global_shape s;
    if (!global_shape_of(task->call, &s) || s.block > 1)
        return optune_refuse(why, "needs constant shapes and planes of one channel");
    const staged_rows rows = global_staged(task);
    return staged_rows_pay(task, &rows, why);
}

static bool other_planes(const optune_task *task, char *why)
{
    return !odd_planes(task, NULL) ||
           optune_refuse(why, "it is many odd planes, which has a row of its own");
}

OPTUNE_STRATEGY(pool_global, gpu) = {
    .op = "global_avg_pool2d",
    .key = "gpu",
    .rows =
        (const optune_strategy_row[]){
            {.impl = "global_avg_pool2d_staged.gpu", .plevel = 12, .condition = odd_planes},
            {.impl = "global_avg_pool2d_block.gpu"},
            {.impl = "global_avg_pool2d_staged.gpu", .plevel = 5, .condition = other_planes},
            {0}},
};
