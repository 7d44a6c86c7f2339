/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/softmax/softmax_gpu.h declares. */
#include "kernels/softmax/softmax_gpu.h"

int softmax_gpu_module(const optune_task *task, optune_plan *plan, const softmax_shape *s)
{
    const int m = optune_plan_module(plan);
    gpu_define_scalar(plan, m, task->call);
    gpu_define_index(plan, m, task->call);
    optune_plan_define(plan, m, "OUTER", s->outer);
    optune_plan_define(plan, m, "AXIS", s->n);
    optune_plan_define(plan, m, "INNER", s->inner);
    return m;
}

void softmax_gpu_stage(optune_plan *plan, optune_stage stage)
{
    stage.phase = OPTUNE_TIMED;
    stage.function = "softmax";
    stage.n_args = 2;
    stage.arg[0] = optune_input_arg(0);
    stage.arg[1] = optune_output_arg(0);
    optune_plan_stage(plan, &stage);
}
