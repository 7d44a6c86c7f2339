/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d on GPUs, CUDA's and OpenCL's, with Relay's priority levels: the direct convolution 10,
 * winograd 5 below it, so that it must win by measurement, and cuDNN 25 when the target names it.
 * The implicit product lies above the direct one: its untuned tile suits every shape, while
 * the other's tiles must divide it.
 */
#include "kernels/conv2d/strategy_rows.h"

static const optune_strategy_row rows[] = {
    {.impl = "conv2d_implicit_gemm.gpu", .plevel = 11},
    {.impl = "conv2d_nchw.cuda", .plevel = 10},
    {.impl = "conv2d_cudnn.cuda", .plevel = 25},
    {0},
};

OPTUNE_STRATEGY(conv2d, gpu) = {.op = "conv2d", .key = "gpu", .rows = rows, .dim = conv2d_dim};
