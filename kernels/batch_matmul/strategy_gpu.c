/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul on GPUs, CUDA's and OpenCL's, in the order of dense's: the fewer rows a template is
 * made for, the better it is where it applies; the library before all, where it is named.
 */
#include "kernels/batch_matmul/batch_matmul.h"

static const optune_strategy_row rows[] = {
    {.impl = "batch_matmul_tile.gpu", .plevel = 10},
    {.impl = "batch_matmul_skinny.gpu", .plevel = 12, .when = "m <= 32"},
    {.impl = "batch_matmul_gemv.gpu", .plevel = 13, .when = "m <= 8"},
    {.impl = "batch_matmul_wgmma.cuda", .plevel = 22},
    {.impl = "batch_matmul_cublas.cuda", .plevel = 25},
    {0},
};

OPTUNE_STRATEGY(batch_matmul, gpu) = {
    .op = "batch_matmul",
    .key = "gpu",
    .rows = rows,
    .dim = batch_matmul_dim,
};
