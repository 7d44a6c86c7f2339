/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of conv2d on GPUs, CUDA's and OpenCL's. */
#include "optune/define.h"

#define ROW(op_)                                                                               \
    {                                                                                          \
        .op = op_, .key = "gpu", .rows = (const optune_strategy_row[])                         \
        {                                                                                      \
            {.impl = op_ "_implicit_gemm.gpu"},                                                \
            {                                                                                  \
                .impl = NULL                                                                   \
            }                                                                                  \
        }                                                                                      \
    }

OPTUNE_STRATEGIES(convolution_gradient,
                  gpu) = {ROW("conv2d_transpose"), ROW("conv2d_backward_weight"), {0}};
