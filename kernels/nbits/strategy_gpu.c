/* SPDX-License-Identifier: Apache-2.0 */
/* dense_nbits on GPUs, CUDA's and OpenCL's: a few rows go as fast as the weight is read, by tensor
 * cores where elements have 16 bits; those take more rows, too, and calls whose rows are known at
 * run time. */
#include "kernels/nbits/nbits.h"

enum { ONE_OR_TWO = 2 }; /* rows that leave most of a product of tensor cores empty */

static bool several_rows(const optune_task *task, char *why)
{
    return nbits_shape_of(task->call).m > ONE_OR_TWO ||
           optune_refuse(why, "at most %d rows", (int)ONE_OR_TWO);
}

static bool few_rows(const optune_task *task, char *why)
{
    return nbits_shape_of(task->call).m <= ONE_OR_TWO ||
           optune_refuse(why, "more than %d rows", (int)ONE_OR_TWO);
}

static const optune_strategy_row rows[] = {
    {.impl = "dense_nbits_tile.gpu", .plevel = 10},
    {.impl = "dense_nbits_gemv.gpu", .plevel = 12, .when = "m <= 16"},
    {.impl = "dense_nbits_decode.cuda", .plevel = 22, .when = "m <= 16"},
    {.impl = "dense_nbits_wgmma.cuda", .plevel = 21, .when = "m > 64"},
    {.impl = "dense_nbits_wgmma.cuda", .plevel = 8, .when = "m <= 64"},
    {.impl = "dense_nbits_mma.cuda", .plevel = 20, .condition = several_rows},
    {.impl = "dense_nbits_mma.cuda", .plevel = 9, .condition = few_rows},
    {0},
};

OPTUNE_STRATEGY(nbits,
                gpu) = {.op = "dense_nbits", .key = "gpu", .rows = rows, .dim = nbits_dim};
