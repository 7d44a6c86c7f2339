/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_wgmma.cuda: matrix instructions of whole warpgroups, operands by the copy engine, on
 * devices of compute capability 9.0; float16, bfloat16, int8, and float32 where tf32 is
 * permitted.
 */
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_wgmma.h"

static bool takes(const optune_task *task, char *why)
{
    const matmul_gpu p = dense_gpu(task->call);
    return dense_known(task->call) ? matmul_gpu_wgmma_applies(task, &p, why)
                                   : optune_refuse(why, "needs constant shapes");
}

MATMUL_GPU_HOOKS(dense_wgmma, wgmma, dense_gpu, takes)

OPTUNE_IMPL(matmul_gpu, wgmma) =
    MATMUL_GPU_ROW(dense_wgmma, "dense", "dense_wgmma.cuda",
                   "products of warpgroups fed by the copy engine, for compute capability 9.0",
                   NULL, .math = "ieee tf32");
