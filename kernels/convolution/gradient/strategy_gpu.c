/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_transpose on GPUs, CUDA's and OpenCL's. */
#include "optune/define.h"

static const optune_strategy_row rows[] = {
    {.impl = "conv2d_transpose_implicit_gemm.gpu"},
    {0},
};

OPTUNE_STRATEGY(convolution_gradient, gpu) = {.op = "conv2d_transpose", .key = "gpu", .rows = rows};
