/* SPDX-License-Identifier: Apache-2.0 */
/* Ordering on GPUs: what fits in shared memory is sorted there, and few of
 * many are filtered. */
#include "kernels/order/order_rows.h"

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
    {.impl = "topk_filter.cuda", .plevel = 13, .when = "n >= 512"},
    {.impl = "topk_filter.cuda", .plevel = 10, .when = "n < 512"},
    BITONIC("topk"),
    {.impl = "topk_rounds.gpu", .plevel = 11},
    RUNS("topk"),
    {0},
};

OPTUNE_STRATEGIES(order, gpu) = {
    SORTS("sort"),
    SORTS("argsort"),
    {.op = "topk", .key = "gpu", .rows = best, .dim = order_dim},
    {0},
};
