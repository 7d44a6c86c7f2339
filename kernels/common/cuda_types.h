/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows that call NVIDIA's libraries share: which calls they take, and the macros TYPE, DOUBLES
 * and COMPUTE of kernels/common/cuda_library.h. Host code only.
 */
#ifndef OPTUNE_KERNELS_COMMON_CUDA_TYPES_H
#define OPTUNE_KERNELS_COMMON_CUDA_TYPES_H

#include <string.h>

#include "kernels/common/gpu_limits.h"

/* One floating type throughout, known shapes, on CUDA. */
static inline bool cuda_library_applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    const optune_dtype dtype = call->output[0].dtype;
    if (!gpu_is_cuda(task, 70, why))
        return false;
    if (!optune_tensor_known(&call->output[0]))
        return optune_refuse(why, "needs constant shapes");
    for (int i = 0; i < call->n_inputs; i++)
        if (!optune_tensor_known(&call->input[i].type) ||
            !optune_dtype_equal(dtype, call->input[i].type.dtype))
            return optune_refuse(why, "needs constant shapes and one type throughout");
    if ((dtype.code != OPTUNE_DTYPE_FLOAT && dtype.code != OPTUNE_DTYPE_BFLOAT) ||
        dtype.lanes != 1)
        return optune_refuse(why, "needs a floating type");
    return true;
}

static inline bool cuda_library_tf32(const optune_call *call)
{
    return strcmp(optune_call_word(call, "math"), "tf32") == 0;
}

/* A module for the host with the macros of the call's type. */
static inline int cuda_library_module(const optune_task *task, optune_plan *plan)
{
    const optune_dtype dtype = task->call->output[0].dtype;
    const bool f64 = dtype.bits == 64, half = dtype.bits == 16;
    const int m = optune_plan_module(plan);
    optune_plan_flag(plan, m, "-host");
    optune_plan_define(plan, m, "DOUBLES", f64);
    optune_plan_define_text(plan, m, "TYPE",
                            f64                                 ? "CUDA_DOUBLE"
                            : dtype.code == OPTUNE_DTYPE_BFLOAT ? "CUDA_BFLOAT"
                            : half                              ? "CUDA_HALF"
                                                                : "CUDA_FLOAT");
    optune_plan_define_text(plan, m, "COMPUTE",
                            f64                                      ? "COMPUTE_DOUBLE"
                            : cuda_library_tf32(task->call) && !half ? "COMPUTE_TF32"
                                                                     : "COMPUTE_FLOAT");
    return m;
}

#endif
