/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of conv2d on CPUs. */
#include "optune/define.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "cpu", .rows = (const optune_strategy_row[])                         \
        {                                                                                      \
            {.impl = op_ "_gemm.cpu"},                                                         \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(convolution_gradient,
                  cpu) = {ROW("conv2d_transpose"), ROW("conv2d_backward_weight"), {0}};
