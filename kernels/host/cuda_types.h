/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows that call NVIDIA's libraries share: which calls they take, and the macros TYPE,
 * OUT_TYPE, DOUBLES, INTEGERS and COMPUTE of kernels/common/cuda_library.kernel.h. Host code
 * only.
 */
#ifndef OPTUNE_KERNELS_HOST_CUDA_TYPES_H
#define OPTUNE_KERNELS_HOST_CUDA_TYPES_H

#include <string.h>

#include "kernels/host/gpu_limits.h"

/* One floating type throughout, known shapes, on CUDA. */
bool cuda_library_applies(const optune_task *task, char *why);

/* What their matrix products take: a floating type with sums of that type or float32, or int8
 * with int32, whose rows are of whole words there. */
bool cuda_library_product(const optune_task *task, int64_t k, int64_t n, char *why);

static inline bool cuda_library_tf32(const optune_call *call)
{
    return strcmp(optune_call_word(call, "math"), "tf32") == 0;
}

/* A module for the host with the macros of the call's types. */
int cuda_library_module(const optune_task *task, optune_plan *plan);

#endif
