/* SPDX-License-Identifier: Apache-2.0 */
/* <op>_ring.cuda: large float32 products by tiles in a ring of asynchronous copies. */
#include "kernels/matmul/gpu/batch_matmul_gpu.h"
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_ring.h"

static bool dense_takes(const optune_task *task, char *why)
{
    if (!dense_applies(task, why))
        return false;
    const matmul_gpu p = dense_gpu(task->call);
    return matmul_gpu_ring_applies(task, &p, why);
}

MATMUL_GPU_HOOKS(dense_ring, ring, dense_gpu, dense_takes)

static bool batch_matmul_takes(const optune_task *task, char *why)
{
    if (!batch_matmul_applies(task, why))
        return false;
    const matmul_gpu p = batch_matmul_gpu(task->call);
    return matmul_gpu_ring_applies(task, &p, why);
}

MATMUL_GPU_HOOKS(batch_matmul_ring, ring, batch_matmul_gpu, batch_matmul_takes)

OPTUNE_IMPLS(matmul_gpu, ring) = {
    MATMUL_GPU_ROW(dense_ring, "dense", "dense_ring.cuda",
                   "float32 tiles in a ring of asynchronous copies, fragments a step ahead",
                   "data.0"),
    MATMUL_GPU_ROW(batch_matmul_ring, "batch_matmul", "batch_matmul_ring.cuda",
                   "float32 tiles in a ring of asynchronous copies, fragments a step ahead",
                   "x.0 x.1 y.0"),
    {0},
};
