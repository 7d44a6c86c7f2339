/* SPDX-License-Identifier: Apache-2.0 */
/* Ordering on GPUs: what fits in shared memory is sorted there. */
#include "optune/define.h"

#define BITONIC(op)                                                                            \
    {                                                                                          \
        .impl = op "_bitonic.gpu", .plevel = 12                                                \
    }
#define RUNS(op)                                                                               \
    {                                                                                          \
        .impl = op "_runs.gpu"                                                                 \
    }
#define SORTS(op_)                                                                             \
    {                                                                                          \
        .op = op_, .key = "gpu", .rows = (const optune_strategy_row[])                         \
        {                                                                                      \
            BITONIC(op_), RUNS(op_),                                                           \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

static const optune_strategy_row best[] = {
    BITONIC("topk"),
    {.impl = "topk_rounds.gpu", .plevel = 11},
    RUNS("topk"),
    {0},
};

OPTUNE_STRATEGIES(order, gpu) = {
    SORTS("sort"),
    SORTS("argsort"),
    {.op = "topk", .key = "gpu", .rows = best},
    {0},
};
