/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul on GPUs, CUDA's and OpenCL's, in the order of dense's: the fewer rows a template is
 * made for, the better it is where it applies; the library before all, where it is named.
 */
#include "kernels/matmul/gpu/batch_matmul_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_mma.h"
#include "kernels/matmul/gpu/matmul_gpu_ring.h"

static bool fragments(const optune_task *task, char *why)
{
    const matmul_gpu p = batch_matmul_gpu(task->call);
    return matmul_gpu_mma_divides(&p, why);
}

static bool other_shapes(const optune_task *task, char *why)
{
    return !fragments(task, NULL) ||
           optune_refuse(why, "it falls into fragments, which has a row of its own");
}

static const optune_strategy_row rows[] = {
    {.impl = "batch_matmul_tile.gpu", .plevel = 10},
    {.impl = "batch_matmul_ring.cuda", .plevel = 11, .condition = matmul_gpu_ring_first},
    {.impl = "batch_matmul_ring.cuda", .plevel = 8, .condition = matmul_gpu_ring_second},
    {.impl = "batch_matmul_skinny.gpu", .plevel = 12, .when = "m <= 32"},
    {.impl = "batch_matmul_skinny_ring.cuda", .plevel = 13, .when = "m <= 32"},
    {.impl = "batch_matmul_gemv.gpu", .plevel = 14, .when = "m <= 8"},
    {.impl = "batch_matmul_wgmma.cuda", .plevel = 22},
    {.impl = "batch_matmul_mma.cuda", .plevel = 20, .condition = fragments},
    {.impl = "batch_matmul_mma.cuda", .plevel = 9, .condition = other_shapes},
    {.impl = "batch_matmul_cublas.cuda", .plevel = 25},
    {0},
};

OPTUNE_STRATEGY(matmul, batch_gpu) = {
    .op = "batch_matmul",
    .key = "gpu",
    .rows = rows,
    .dim = batch_matmul_dim,
};
