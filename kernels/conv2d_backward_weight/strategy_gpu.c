/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_backward_weight on GPUs, CUDA's and OpenCL's. */
#include "optune/define.h"

static const optune_strategy_row rows[] = {
    {.impl = "conv2d_backward_weight_implicit_gemm.gpu"},
    {0},
};

OPTUNE_STRATEGY(conv2d_backward_weight,
                gpu) = {.op = "conv2d_backward_weight", .key = "gpu", .rows = rows};
