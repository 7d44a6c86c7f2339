/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_gemv.gpu: products of one row or a few, CUDA and OpenCL, as fast as the
 * right operand is read.
 */
#include "kernels/matmul/gpu/batch_matmul_gpu.h"
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_gemv.h"

static bool dense_few_rows(const optune_task *task, char *why)
{
    return dense_applies(task, why) &&
           (dense_shape_of(task->call).m <= 16 || optune_refuse(why, "more than 16 rows"));
}

MATMUL_GPU_HOOKS(dense_gemv, gemv, dense_gpu, dense_few_rows)

static bool batch_matmul_few_rows(const optune_task *task, char *why)
{
    if (!batch_matmul_applies(task, why))
        return false;
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    return s.transpose_a || !s.transpose_b
               ? optune_refuse(why, "needs both operands row by row")
               : s.m <= 16 || optune_refuse(why, "more than 16 rows");
}

MATMUL_GPU_HOOKS(batch_matmul_gemv, gemv, batch_matmul_gpu, batch_matmul_few_rows)

OPTUNE_IMPLS(matmul_gpu, gemv) = {
    MATMUL_GPU_ROW(dense_gemv, "dense", "dense_gemv.gpu",
                   "teams of threads along the depth, nothing staged", "data.0"),
    MATMUL_GPU_ROW(batch_matmul_gemv, "batch_matmul", "batch_matmul_gemv.gpu",
                   "teams of threads along the depth, nothing staged", "x.0 x.1 y.0"),
    {0},
};
