/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_mma.cuda: tensor cores through mma.sync, operands by asynchronous copies; float16,
 * bfloat16, int8, and float32 where tf32 is permitted.
 */
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_mma.h"

static bool takes(const optune_task *task, char *why)
{
    const matmul_gpu p = dense_gpu(task->call);
    return dense_bounded(task->call) ? matmul_gpu_mma_applies(task, &p, why)
                                     : optune_refuse(why, "needs constant shapes");
}

MATMUL_GPU_HOOKS(dense_mma, mma, dense_gpu, takes)

OPTUNE_IMPL(matmul_gpu, mma) =
    MATMUL_GPU_ROW(dense_mma, "dense", "dense_mma.cuda",
                   "tensor cores, stages of asynchronous copies into swizzled tiles", "data.0",
                   .math = "ieee tf32");
