/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_wgmma.cuda: matrix instructions of whole warpgroups, operands by the copy engine, on
 * devices of compute capability 9.0; float16, bfloat16, int8, and float32 where tf32 is
 * permitted.
 */
#include "kernels/matmul/gpu/batch_matmul_gpu.h"
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_wgmma.h"

static bool dense_takes(const optune_task *task, char *why)
{
    const matmul_gpu p = dense_gpu(task->call);
    return dense_known(task->call) ? matmul_gpu_wgmma_applies(task, &p, why)
                                   : optune_refuse(why, "needs constant shapes");
}

MATMUL_GPU_HOOKS(dense_wgmma, wgmma, dense_gpu, dense_takes)

static bool batch_matmul_takes(const optune_task *task, char *why)
{
    const matmul_gpu p = batch_matmul_gpu(task->call);
    return batch_matmul_known(task->call) ? matmul_gpu_wgmma_applies(task, &p, why)
                                          : optune_refuse(why, "needs constant shapes");
}

MATMUL_GPU_HOOKS(batch_matmul_wgmma, wgmma, batch_matmul_gpu, batch_matmul_takes)

OPTUNE_IMPLS(matmul_gpu, wgmma) = {
    MATMUL_GPU_ROW(dense_wgmma, "dense", "dense_wgmma.cuda",
                   "products of warpgroups fed by the copy engine, for compute capability 9.0",
                   NULL, .math = "ieee tf32"),
    MATMUL_GPU_ROW(batch_matmul_wgmma, "batch_matmul", "batch_matmul_wgmma.cuda",
                   "products of warpgroups fed by the copy engine, for compute capability 9.0",
                   NULL, .math = "ieee tf32"),
    {0},
};
