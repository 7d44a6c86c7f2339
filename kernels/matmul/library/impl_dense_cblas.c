/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_cblas.x86: the product through CBLAS, the one library every machine has. No knobs.
 */
#include "kernels/matmul/dense.h"

static bool applies(const optune_task *task, char *why)
{
    if (!dense_applies(task, why))
        return false;
    const dense_shape s = dense_shape_of(task->call);
    if (s.m > INT32_MAX || s.n > INT32_MAX || s.k > INT32_MAX)
        return optune_refuse(why, "CBLAS counts in 32 bits");
    return true;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const dense_shape s = dense_shape_of(task->call);
    const char *const gemm = s.f64 ? "cblas_dgemm" : "cblas_sgemm";
    const char *const gemv = s.f64 ? "cblas_dgemv" : "cblas_sgemv";
    const int module = optune_plan_module(plan);
    dense_define(plan, module, &s);
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .module = module,
        .function = "dense",
        .n_args = 3,
        .arg = {optune_symbol_arg(s.m == 1 ? gemv : gemm), optune_input_arg(DENSE_DATA),
                optune_input_arg(DENSE_WEIGHT)},
    };
    dense_finish(&stage, &s);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(matmul_library, dense_cblas) = {
    .op = "dense",
    .name = "dense_cblas.x86",
    .summary = "gemm or gemv of a CBLAS library",
    .library = "cblas",
    .task_args = "data weight bias? out_dtype",
    .applies = applies,
    .plan = plan,
    .symbolic = "data.0",
};
