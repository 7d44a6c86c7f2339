/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/convolution/gradient/gradient_gemm.h declares. */
#include "kernels/convolution/gradient/gradient_gemm.h"

bool gradient_gemm_applies(const optune_task *task, bool known, char *why)
{
    if (!known)
        return optune_refuse(why, "needs constant shapes");
    return tensor_is_float(&task->call->output[0]) ||
           optune_refuse(why, "needs float32 or float64");
}

int gradient_gemm_plan(const optune_task *task, const optune_config *config, optune_plan *plan,
                       const conv2d_shape *s, const char *function, const char *what,
                       int64_t each)
{
    const int m = optune_plan_module(plan);
    conv2d_define(plan, m, s);
    matmul_define_tile(plan, m, config);
    optune_plan_define(plan, m, "MEMORY", each);
    const int memory =
        optune_plan_scratch(plan, what, gradient_gemm_bytes(task, s, each), false);
    optune_plan_stage(
        plan, &(optune_stage){.phase = OPTUNE_TIMED,
                              .module = m,
                              .function = function,
                              .n_args = 4,
                              .arg = {optune_input_arg(0), optune_input_arg(1),
                                      optune_output_arg(0), optune_scratch_arg(memory)}});
    return m;
}
