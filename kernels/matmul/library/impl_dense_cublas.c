/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_cublas.cuda: one gemm of cuBLAS. No knobs. float32 is computed in float32, in tf32 only
 * where the call's numerics class permits it.
 */
#include "kernels/matmul/dense.h"
#include "kernels/matmul/library/cublas_plan.h"

static bool applies(const optune_task *task, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    if (!cuda_library_product(task, s.k, s.n, why))
        return false;
    if (s.m < 1 || s.n < 1 || s.k < 1 || s.m > INT32_MAX || s.n > INT32_MAX || s.k > INT32_MAX)
        return optune_refuse(why, "cuBLAS counts in 32 bits, from 1 on");
    return !s.bias || optune_refuse(why, "cuBLAS adds no bias");
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const dense_shape s = dense_shape_of(task->call);
    const int m = cuda_library_module(task, plan);
    optune_plan_define(plan, m, "M", s.m);
    optune_plan_define(plan, m, "N", s.n);
    optune_plan_define(plan, m, "K", s.k);
    cublas_handle(plan, m);
    cublas_stage(
        plan,
        (optune_stage){.phase = OPTUNE_TIMED,
                       .module = m,
                       .function = "dense",
                       .n_args = 4,
                       .arg = {optune_symbol_arg("cublasGemmEx"), optune_input_arg(DENSE_DATA),
                               optune_input_arg(DENSE_WEIGHT), optune_output_arg(0)}});
}

OPTUNE_IMPL(matmul_library, dense_cublas) = {
    .op = "dense",
    .name = "dense_cublas.cuda",
    .summary = "gemm of cuBLAS",
    .library = "cublas",
    .math = "ieee tf32",
    .task_args = "data weight bias? out_dtype",
    .applies = applies,
    .plan = plan,
};
