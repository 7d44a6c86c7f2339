/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/library/cublas_plan.h declares. */
#include "kernels/matmul/library/cublas_plan.h"

enum { CUBLAS_WORKSPACE = 32 << 20 }; /* what NVIDIA recommends from 9.0 on */

void cublas_handle(optune_plan *plan, int module)
{
    optune_plan_define(plan, module, "WORKSPACE", CUBLAS_WORKSPACE);
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_PREPACK,
                                            .module = module,
                                            .function = "begin",
                                            .n_args = 3,
                                            .arg = {optune_symbol_arg("cublasCreate_v2"),
                                                    optune_symbol_arg("cublasSetStream_v2"),
                                                    optune_symbol_arg("ot_stream")}});
    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TEARDOWN,
                                            .module = module,
                                            .function = "end",
                                            .n_args = 2,
                                            .arg = {optune_symbol_arg("cublasDestroy_v2"),
                                                    optune_symbol_arg("ot_stream")}});
}

void cublas_stage(optune_plan *plan, optune_stage stage)
{
    const int workspace = optune_plan_scratch(plan, "workspace", CUBLAS_WORKSPACE, false);
    stage.arg[stage.n_args++] = optune_symbol_arg("cublasSetWorkspace_v2");
    stage.arg[stage.n_args++] = optune_scratch_arg(workspace);
    stage.arg[stage.n_args++] = optune_symbol_arg("ot_stream");
    optune_plan_stage(plan, &stage);
}
