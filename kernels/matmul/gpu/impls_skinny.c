/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_skinny.gpu: products of few rows, CUDA and OpenCL: the depth is shared
 * within a block and among blocks, so that few outputs fill a device.
 */
#include "kernels/matmul/gpu/batch_matmul_gpu.h"
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_tile.h"

OPTUNE_BODY("kernels/matmul/gpu/impls_tile.kernel.cu");

static bool dense_few_rows(const optune_task *task, char *why)
{
    return dense_applies(task, why) &&
           (dense_shape_of(task->call).m <= 64 || optune_refuse(why, "more than 64 rows"));
}

MATMUL_GPU_HOOKS(dense_skinny, skinny, dense_gpu, dense_few_rows)

static bool batch_matmul_few_rows(const optune_task *task, char *why)
{
    return batch_matmul_applies(task, why) && (batch_matmul_shape_of(task->call).m <= 64 ||
                                               optune_refuse(why, "more than 64 rows"));
}

MATMUL_GPU_HOOKS(batch_matmul_skinny, skinny, batch_matmul_gpu, batch_matmul_few_rows)

OPTUNE_IMPLS(matmul_gpu, skinny) = {
    MATMUL_GPU_ROW(dense_skinny, "dense", "dense_skinny.gpu",
                   "all rows in a block, which shares the depth of a tile", "data.0"),
    MATMUL_GPU_ROW(batch_matmul_skinny, "batch_matmul", "batch_matmul_skinny.gpu",
                   "all rows in a block, which shares the depth of a tile", "x.0 x.1 y.0"),
    {0},
};
