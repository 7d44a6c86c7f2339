/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_cublaslt.cuda: cuBLASLt, with the rank of its heuristic's answer as the knob: its first
 * is not always its fastest. The bias is added by its epilogue.
 */
#include "kernels/host/cuda_types.h"
#include "kernels/matmul/dense.h"

enum { WORKSPACE = 32 << 20 };

static bool applies(const optune_task *task, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    if (!cuda_library_product(task, s.k, s.n, why))
        return false;
    if (s.bias && task->call->output[0].dtype.code == OPTUNE_DTYPE_INT)
        return optune_refuse(why, "cuBLASLt adds no bias to integers");
    return (s.m >= 1 && s.n >= 1 && s.k >= 1) || optune_refuse(why, "nothing to compute");
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "heuristic", 8, (const int64_t[]){0, 1, 2, 3, 4, 5, 6, 7});
}

static const char *const setup[] = {
    "cublasLtCreate",
    "cublasLtMatmulDescCreate",
    "cublasLtMatmulDescSetAttribute",
    "cublasLtMatrixLayoutCreate",
    "cublasLtMatmulPreferenceCreate",
    "cublasLtMatmulPreferenceSetAttribute",
    "cublasLtMatmulAlgoGetHeuristic",
    "ot_stream",
};

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const int m = cuda_library_module(task, plan);
    const int workspace = optune_plan_scratch(plan, "workspace", WORKSPACE, false);
    optune_plan_define(plan, m, "M", s.m);
    optune_plan_define(plan, m, "N", s.n);
    optune_plan_define(plan, m, "K", s.k);
    optune_plan_define(plan, m, "BIAS", s.bias);
    optune_plan_define(plan, m, "RANK", optune_config_int(config, "heuristic"));
    optune_plan_define(plan, m, "WORKSPACE", WORKSPACE);
    optune_stage begin = {.phase = OPTUNE_PREPACK, .module = m, .function = "begin"};
    for (size_t i = 0; i < sizeof setup / sizeof setup[0]; i++)
        begin.arg[begin.n_args++] = optune_symbol_arg(setup[i]);
    optune_plan_stage(plan, &begin);
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .module = m,
        .function = "dense",
        .n_args = 6,
        .arg = {optune_symbol_arg("cublasLtMatmul"),
                optune_symbol_arg("cublasLtMatmulDescSetAttribute"),
                optune_symbol_arg("ot_stream"), optune_scratch_arg(workspace),
                optune_input_arg(DENSE_DATA), optune_input_arg(DENSE_WEIGHT)},
    };
    dense_finish(&stage, &s);
    optune_plan_stage(plan, &stage);
    optune_plan_stage(
        plan, &(optune_stage){.phase = OPTUNE_TEARDOWN,
                              .module = m,
                              .function = "end",
                              .n_args = 5,
                              .arg = {optune_symbol_arg("cublasLtMatmulPreferenceDestroy"),
                                      optune_symbol_arg("cublasLtMatrixLayoutDestroy"),
                                      optune_symbol_arg("cublasLtMatmulDescDestroy"),
                                      optune_symbol_arg("cublasLtDestroy"),
                                      optune_symbol_arg("ot_stream")}});
}

OPTUNE_IMPL(matmul_library, dense_cublaslt) = {
    .op = "dense",
    .name = "dense_cublaslt.cuda",
    .summary = "matmul of cuBLASLt, rank of its heuristic as the knob",
    .library = "cublaslt",
    .math = "ieee tf32",
    .applies = applies,
    .space = space,
    .plan = plan,
};
