/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling and its gradients on GPUs, as rows of any of them: a thread for each element of the
 * output, in any layout. A gradient is gathered by the elements of the data, so that no two
 * threads add to one place.
 */
#ifndef OPTUNE_KERNELS_POOL_GPU_H
#define OPTUNE_KERNELS_POOL_GPU_H

#include "kernels/host/pattern_gpu.h"
#include "kernels/pool/grad/grad.h"

pool_shape pool_gpu_shape(const optune_call *call);

/* Windows are computed in 16-bit floats, too. */
static inline bool pool_window_applies(const optune_task *task, char *why)
{
    const pool_shape s = pool_gpu_shape(task->call);
    const optune_dtype dtype = task->call->output[0].dtype;
    return pool_fits(&s, why) && ((pattern_is_real(dtype) && gpu_stored_type(dtype)) ||
                                  optune_refuse(why, "needs floats of 16 to 64 bits"));
}

static inline bool pool_gpu_applies(const optune_task *task, char *why)
{
    const pool_shape s = pool_gpu_shape(task->call);
    return pool_applies(task, &s, why) && gpu_computes(task->call->output[0].dtype, why);
}

void pool_gpu_space(const optune_task *task, optune_space *space);

bool pool_gpu_valid(const optune_task *task, const optune_config *config, char *why);

void pool_gpu_fallback(const optune_task *task, const optune_space *space,
                       optune_config *config);

double pool_gpu_estimate(const optune_task *task, const optune_config *config);

void pool_window_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

/* Of a maximum, a stage before it notes which element each window takes. */
void pool_gather_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

#endif
