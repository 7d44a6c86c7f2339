/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul_skinny.gpu: products of few rows, CUDA and OpenCL: the depth is shared
 * within a block and among blocks, so that few outputs fill a device.
 */
#include "kernels/matmul/gpu/batch_matmul_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_tile.h"

static bool few_rows(const optune_task *task, char *why)
{
    return batch_matmul_applies(task, why) && (batch_matmul_shape_of(task->call).m <= 64 ||
                                               optune_refuse(why, "more than 64 rows"));
}

MATMUL_GPU_HOOKS(batch_matmul_skinny, skinny, batch_matmul_gpu, few_rows)

OPTUNE_IMPL(batch_matmul,
            skinny) = MATMUL_GPU_ROW(batch_matmul_skinny, "batch_matmul",
                                     "batch_matmul_skinny.gpu",
                                     "all rows in a block, which shares the depth of a tile",
                                     "x.0 x.1 y.0");
