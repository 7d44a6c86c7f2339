/* SPDX-License-Identifier: Apache-2.0 */
/* What attention's GPU rows share. Host code only; bodies: attention_gpu.kernel.h. */
#ifndef OPTUNE_KERNELS_ATTENTION_GPU_HOST_H
#define OPTUNE_KERNELS_ATTENTION_GPU_HOST_H

#include "kernels/attention/attention.h"
#include "kernels/host/gpu_cost.h"

/* Whether bodies take it that compute in float32: its types, and offsets within a head. */
bool attention_gpu_applies(const optune_task *task, attention_shape *s, char *why);

/* Elements of lines of n that may be moved at once: up to `most`. */
int64_t attention_gpu_vector(int64_t n, int64_t most);

/* Tiles of `keys` that a block goes through, as a mean over those of `rows` rows. */
double attention_gpu_tiles(const attention_shape *s, int64_t rows, int64_t keys);

/* A timed stage over (q, k, v, to) and the mask where there is one. */
optune_stage attention_gpu_stage(const attention_shape *s, int m, const char *function,
                                 optune_arg to);

#endif
