/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_gemv.gpu: products of one row or a few, CUDA and OpenCL, as fast as the
 * right operand is read.
 */
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_gemv.h"

static bool few_rows(const optune_task *task, char *why)
{
    return dense_applies(task, why) &&
           (dense_shape_of(task->call).m <= 16 || optune_refuse(why, "more than 16 rows"));
}

MATMUL_GPU_HOOKS(dense_gemv, gemv, dense_gpu, few_rows)

OPTUNE_IMPL(matmul_gpu, gemv) = MATMUL_GPU_ROW(dense_gemv, "dense", "dense_gemv.gpu",
                                       "teams of threads along the depth, nothing staged",
                                       "data.0");
