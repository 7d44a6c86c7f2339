/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of conv2d for a target that has no strategy of its own. */
#include "kernels/host/host.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "generic", .rows = (const optune_strategy_row[])                     \
        {                                                                                      \
            {.impl = op_ "_gemm.cpu", .condition = host_on_cpu},                               \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(convolution_gradient,
                  generic) = {ROW("conv2d_transpose"), ROW("conv2d_backward_weight"), {0}};
