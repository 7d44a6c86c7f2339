/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_mma.cuda: tensor cores through mma.sync, operands by asynchronous copies; float16,
 * bfloat16, int8, and float32 where tf32 is permitted.
 */
#include "kernels/matmul/gpu/batch_matmul_gpu.h"
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_mma.h"

static bool dense_takes(const optune_task *task, char *why)
{
    const matmul_gpu p = dense_gpu(task->call);
    return dense_bounded(task->call) ? matmul_gpu_mma_applies(task, &p, why)
                                     : optune_refuse(why, "needs constant shapes");
}

MATMUL_GPU_HOOKS(dense_mma, mma, dense_gpu, dense_takes)

static bool batch_matmul_takes(const optune_task *task, char *why)
{
    const matmul_gpu p = batch_matmul_gpu(task->call);
    return batch_matmul_bounded(task->call) ? matmul_gpu_mma_applies(task, &p, why)
                                            : optune_refuse(why, "needs constant shapes");
}

MATMUL_GPU_HOOKS(batch_matmul_mma, mma, batch_matmul_gpu, batch_matmul_takes)

OPTUNE_IMPLS(matmul_gpu, mma) = {
    MATMUL_GPU_ROW(dense_mma, "dense", "dense_mma.cuda",
                   "tensor cores, stages of asynchronous copies into swizzled tiles", "data.0",
                   .math = "ieee tf32"),
    MATMUL_GPU_ROW(batch_matmul_mma, "batch_matmul", "batch_matmul_mma.cuda",
                   "tensor cores, stages of asynchronous copies into swizzled tiles",
                   "x.0 x.1 y.0", .math = "ieee tf32"),
    {0},
};
