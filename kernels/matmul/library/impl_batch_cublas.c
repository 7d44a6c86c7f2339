/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul_cublas.cuda: one strided batched gemm of cuBLAS, with operands as they lie; a
 * matrix that all batches share has a stride of 0. No knobs. Types as dense_cublas.cuda's:
 * float32 is computed in float32, in tf32 only where the call's numerics class permits it.
 */
#include "kernels/matmul/batch_matmul.h"
#include "kernels/matmul/library/cublas_plan.h"

static bool applies(const optune_task *task, char *why)
{
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    if (!cuda_library_product(task, s.k, s.n, why))
        return false;
    if (task->call->output[0].dtype.code == OPTUNE_DTYPE_INT && s.transpose_a && s.m % 4)
        return optune_refuse(why, "int8 needs rows of a multiple of 4");
    return (s.b >= 1 && s.m >= 1 && s.n >= 1 && s.k >= 1 && s.b <= INT32_MAX &&
            s.m <= INT32_MAX && s.n <= INT32_MAX && s.k <= INT32_MAX) ||
           optune_refuse(why, "cuBLAS counts in 32 bits, from 1 on");
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    const int m = cuda_library_module(task, plan);
    optune_plan_define(plan, m, "B", s.b);
    optune_plan_define(plan, m, "M", s.m);
    optune_plan_define(plan, m, "N", s.n);
    optune_plan_define(plan, m, "K", s.k);
    optune_plan_define(plan, m, "X_BATCH", s.x_shared ? 0 : s.m * s.k);
    optune_plan_define(plan, m, "Y_BATCH", s.y_shared ? 0 : s.n * s.k);
    optune_plan_define(plan, m, "TRANSPOSE_A", s.transpose_a);
    optune_plan_define(plan, m, "TRANSPOSE_B", s.transpose_b);
    cublas_handle(plan, m);
    cublas_stage(
        plan, (optune_stage){.phase = OPTUNE_TIMED,
                             .module = m,
                             .function = "matmul",
                             .n_args = 4,
                             .arg = {optune_symbol_arg("cublasGemmStridedBatchedEx"),
                                     optune_input_arg(BATCH_MATMUL_X),
                                     optune_input_arg(BATCH_MATMUL_Y), optune_output_arg(0)}});
}

OPTUNE_IMPL(matmul_library, batch_cublas) = {
    .op = "batch_matmul",
    .name = "batch_matmul_cublas.cuda",
    .summary = "strided batched gemm of cuBLAS",
    .library = "cublas",
    .math = "ieee tf32",
    .applies = applies,
    .plan = plan,
};
