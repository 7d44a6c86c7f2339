/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense on GPUs, CUDA's and OpenCL's. Priority levels order the implementations untuned: the
 * fewer rows a template is made for, the better it is where it applies; libraries before all,
 * where named.
 */
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_mma.h"
#include "kernels/matmul/gpu/matmul_gpu_ring.h"

static bool fragments(const optune_task *task, char *why)
{
    const matmul_gpu p = dense_gpu(task->call);
    return matmul_gpu_mma_divides(&p, why);
}

static bool other_shapes(const optune_task *task, char *why)
{
    return !fragments(task, NULL) ||
           optune_refuse(why, "it falls into fragments, which has a row of its own");
}

static const optune_strategy_row rows[] = {
    {.impl = "dense_tile.gpu", .plevel = 10},
    {.impl = "dense_ring.cuda", .plevel = 11, .condition = matmul_gpu_ring_first},
    {.impl = "dense_ring.cuda", .plevel = 8, .condition = matmul_gpu_ring_second},
    {.impl = "dense_skinny.gpu", .plevel = 12, .when = "m <= 32"},
    {.impl = "dense_skinny_ring.cuda", .plevel = 13, .when = "m <= 32"},
    {.impl = "dense_gemv.gpu", .plevel = 14, .when = "m <= 8"},
    {.impl = "dense_wgmma.cuda", .plevel = 22},
    {.impl = "dense_mma.cuda", .plevel = 20, .condition = fragments},
    {.impl = "dense_mma.cuda", .plevel = 9, .condition = other_shapes},
    {.impl = "dense_cublas.cuda", .plevel = 25},
    {.impl = "dense_cublaslt.cuda", .plevel = 24},
    {0},
};

OPTUNE_STRATEGY(matmul,
                dense_gpu) = {.op = "dense", .key = "gpu", .rows = rows, .dim = dense_dim};
