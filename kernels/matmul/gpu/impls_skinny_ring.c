/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_skinny_ring.cuda: float32 products of few rows by tiles in a ring of asynchronous copies,
 * whose depth the threads of a block share.
 */
#include "kernels/matmul/gpu/batch_matmul_gpu.h"
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_ring.h"

OPTUNE_BODY("kernels/matmul/gpu/impls_ring.kernel.cu");

static bool takes(const optune_task *task, const matmul_gpu *p, char *why)
{
    return matmul_gpu_ring_applies(task, p, why) &&
           (p->m <= 64 || optune_refuse(why, "more than 64 rows"));
}

static bool dense_takes(const optune_task *task, char *why)
{
    if (!dense_applies(task, why))
        return false;
    const matmul_gpu p = dense_gpu(task->call);
    return takes(task, &p, why);
}

MATMUL_GPU_HOOKS(dense_skinny_ring, skinny_ring, dense_gpu, dense_takes)

static bool batch_matmul_takes(const optune_task *task, char *why)
{
    if (!batch_matmul_applies(task, why))
        return false;
    const matmul_gpu p = batch_matmul_gpu(task->call);
    return takes(task, &p, why);
}

MATMUL_GPU_HOOKS(batch_matmul_skinny_ring, skinny_ring, batch_matmul_gpu, batch_matmul_takes)

OPTUNE_IMPLS(matmul_gpu, skinny_ring) = {
    MATMUL_GPU_ROW(dense_skinny_ring, "dense", "dense_skinny_ring.cuda",
                   "all rows in a block, which shares a tile's depth, in a ring of copies",
                   "data.0"),
    MATMUL_GPU_ROW(batch_matmul_skinny_ring, "batch_matmul", "batch_matmul_skinny_ring.cuda",
                   "all rows in a block, which shares a tile's depth, in a ring of copies",
                   "x.0 x.1 y.0"),
    {0},
};
