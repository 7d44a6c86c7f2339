/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU rows ask of a device by arithmetic, before any compiler runs. Host code only. Limits
 * that a device does not tell are taken for those that every GPU of the last ten years has.
 */
#ifndef OPTUNE_KERNELS_HOST_GPU_LIMITS_H
#define OPTUNE_KERNELS_HOST_GPU_LIMITS_H

#include <inttypes.h>

#include "optune/define.h"

static inline int64_t gpu_max_threads(const optune_task *task)
{
    return task->device->max_threads_per_block > 0 ? task->device->max_threads_per_block : 1024;
}

static inline int64_t gpu_max_shared(const optune_task *task)
{
    return task->device->max_shared > 0 ? task->device->max_shared : 48 << 10;
}

/* For `applies` of bodies that use CUDA's own words, from compute capability `cc` (80, 90) on. */
bool gpu_is_cuda(const optune_task *task, int cc, char *why);

/* The same of bodies in words of kernels/common/wgmma_gpu.kernel.h, whose instructions are those of
 * compute capability 9.0: they are in no later one. */
bool gpu_has_warpgroups(const optune_task *task, char *why);

/* Whether one block of such a kernel can run. `registers` is a thread's, estimated from below. */
bool gpu_fits(const optune_task *task, const int64_t block[3], int64_t shared,
              int64_t registers, char *why);

#endif
