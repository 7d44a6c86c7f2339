/* SPDX-License-Identifier: Apache-2.0 */
/* What softmax's GPU rows share: the macros of a body and its stage. */
#ifndef OPTUNE_KERNELS_SOFTMAX_GPU_H
#define OPTUNE_KERNELS_SOFTMAX_GPU_H

#include "kernels/host/pattern_gpu.h"
#include "kernels/softmax/softmax.h"

static inline bool softmax_gpu_applies(const optune_task *task, softmax_shape *s, char *why)
{
    return softmax_fits(task, s, why) &&
           (pattern_is_real(task->call->input[0].type.dtype) ||
            optune_refuse(why, "needs floats")) &&
           (gpu_stored_type(task->call->output[0].dtype) ||
            optune_refuse(why, "has no C type for a dtype of the call"));
}

/* Bytes of an element in memory; threads hold it as softmax_elem says. */
static inline int64_t softmax_stored(const optune_task *task)
{
    return pattern_bytes(task->call->input[0].type.dtype);
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
