/* SPDX-License-Identifier: Apache-2.0 */
/* What softmax's GPU rows share: the macros of a body and its stage. */
#ifndef OPTUNE_KERNELS_SOFTMAX_GPU_H
#define OPTUNE_KERNELS_SOFTMAX_GPU_H

#include "kernels/host/pattern_gpu.h"
#include "kernels/softmax/softmax.h"

static inline bool softmax_gpu_applies(const optune_task *task, softmax_shape *s, char *why)
{
    return softmax_applies(task, s, why) && gpu_computes(task->call->output[0].dtype, why);
}

/* Of a call that is known to apply. */
static inline softmax_shape softmax_gpu_shape(const optune_task *task)
{
    softmax_shape s;
    softmax_shape_of(task->call, &s);
    return s;
}

int softmax_gpu_module(const optune_task *task, optune_plan *plan, const softmax_shape *s);

void softmax_gpu_stage(optune_plan *plan, optune_stage stage);

#endif
