/* SPDX-License-Identifier: Apache-2.0 */
/* What softmax's GPU rows share: the macros of a body and its stage. */
#ifndef OPTUNE_KERNELS_SOFTMAX_GPU_H
#define OPTUNE_KERNELS_SOFTMAX_GPU_H

#include "kernels/host/pattern_gpu.h"
#include "kernels/softmax/softmax.h"

static inline bool softmax_gpu_applies(const optune_task *task, softmax_shape *s, char *why)
{
    return softmax_applies(task, s, why) &&
           gpu_computes(task->call->output[0].dtype, why);
}

static inline int softmax_gpu_module(const optune_task *task, optune_plan *plan,
                                     const softmax_shape *s)
{
    const int m = optune_plan_module(plan);
    gpu_define_scalar(plan, m, task->call);
    gpu_define_index(plan, m, task->call);
    optune_plan_define(plan, m, "OUTER", s->outer);
    optune_plan_define(plan, m, "AXIS", s->n);
    optune_plan_define(plan, m, "INNER", s->inner);
    return m;
}

static inline void softmax_gpu_stage(optune_plan *plan, optune_stage stage)
{
    stage.phase = OPTUNE_TIMED;
    stage.function = "softmax";
    stage.n_args = 2;
    stage.arg[0] = optune_input_arg(0);
    stage.arg[1] = optune_output_arg(0);
    optune_plan_stage(plan, &stage);
}

#endif
