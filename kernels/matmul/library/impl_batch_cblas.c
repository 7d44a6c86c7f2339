/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul_cblas.x86: one CBLAS product per batch, sequentially; threads are the library's.
 * No knobs.
 */
#include "kernels/matmul/batch_matmul.h"

static bool applies(const optune_task *task, char *why)
{
    if (!batch_matmul_applies(task, why))
        return false;
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    if (s.m > INT32_MAX || s.n > INT32_MAX || s.k > INT32_MAX)
        return optune_refuse(why, "CBLAS counts in 32 bits");
    return true;
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    const batch_matmul_shape s = batch_matmul_shape_of(task->call);
    const int module = optune_plan_module(plan);
    batch_matmul_define(plan, module, &s);
    optune_plan_define(plan, module, "TRANSPOSE_A", s.transpose_a);
    optune_plan_define(plan, module, "TRANSPOSE_B", s.transpose_b);
    optune_plan_stage(plan,
                      &(optune_stage){
                          .phase = OPTUNE_TIMED,
                          .module = module,
                          .function = "matmul",
                          .n_args = 4,
                          .arg = {optune_symbol_arg(s.f64 ? "cblas_dgemm" : "cblas_sgemm"),
                                  optune_input_arg(BATCH_MATMUL_X),
                                  optune_input_arg(BATCH_MATMUL_Y), optune_output_arg(0)},
                      });
}

OPTUNE_IMPL(matmul_library, batch_cblas) = {
    .op = "batch_matmul",
    .name = "batch_matmul_cblas.x86",
    .summary = "gemm of a CBLAS library, batch by batch",
    .library = "cblas",
    .task_args = "x y out_shape out_dtype transpose_a transpose_b",
    .applies = applies,
    .plan = plan,
};
