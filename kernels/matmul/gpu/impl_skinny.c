/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_skinny.gpu: products of few rows, CUDA and OpenCL: the depth is shared
 * within a block and among blocks, so that few outputs fill a device.
 */
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_tile.h"

static bool few_rows(const optune_task *task, char *why)
{
    return dense_applies(task, why) &&
           (dense_shape_of(task->call).m <= 64 || optune_refuse(why, "more than 64 rows"));
}

MATMUL_GPU_HOOKS(dense_skinny, skinny, dense_gpu, few_rows)

OPTUNE_IMPL(matmul_gpu, skinny) = MATMUL_GPU_ROW(dense_skinny, "dense", "dense_skinny.gpu",
                                     "all rows in a block, which shares the depth of a tile",
                                     "data.0");
