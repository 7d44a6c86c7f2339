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

/* 16-bit floats are stored, too, and computed in float. */
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

void pool_window_space(const optune_task *task, optune_space *space);

bool pool_window_valid(const optune_task *task, const optune_config *config, char *why);

void pool_window_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config);

double pool_window_estimate(const optune_task *task, const optune_config *config);

void pool_window_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

void pool_gather_space(const optune_task *task, optune_space *space);

bool pool_gather_valid(const optune_task *task, const optune_config *config, char *why);

void pool_gather_fallback(const optune_task *task, const optune_space *space,
                          optune_config *config);

double pool_gather_estimate(const optune_task *task, const optune_config *config);

/* Of a maximum, a stage before it notes which element each window takes. */
void pool_gather_plan(const optune_task *task, const optune_config *config, optune_plan *plan);

#endif
