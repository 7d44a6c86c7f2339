/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense on GPUs, CUDA's and OpenCL's. Priority levels order the implementations untuned.
 */
#include "kernels/dense/dense.h"

static const optune_strategy_row rows[] = {
    {.impl = "dense_tile.gpu", .plevel = 10},
    {.impl = "dense_cublas.cuda", .plevel = 25},
    {.impl = "dense_cublaslt.cuda", .plevel = 24},
    {0},
};

OPTUNE_STRATEGY(dense, gpu) = {.op = "dense", .key = "gpu", .rows = rows, .dim = dense_dim};
