/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d as a product by tensor cores in the words of dense's template `mma`: m is the output
 * channels of a group, n the pixels of all images, k taps by channels in whole chunks of 16
 * bytes, and a group is a batch. For the row and for the strategy's condition. Host code only.
 */
#ifndef OPTUNE_KERNELS_CONV2D_IMPLICIT_MMA_ROWS_H
#define OPTUNE_KERNELS_CONV2D_IMPLICIT_MMA_ROWS_H

#include "kernels/convolution/conv2d.h"
#include "kernels/matmul/gpu/matmul_gpu_mma.h"

static inline int64_t implicit_mma_size(const optune_call *call)
{
    return call->input[CONV2D_DATA].type.dtype.bits / 8;
}

/* Channels of a tap: whole chunks. */
static inline int64_t implicit_mma_channels(const optune_call *call, const conv2d_shape *s)
{
    const int64_t each = 16 / implicit_mma_size(call);
    return host_ceil(s->ci_g, each) * each;
}

/* Adds the stage `turn` of kernels/convolution/implicit/turn_gpu.kernel.h; returns the scratch
 * that it fills. */
optune_arg implicit_mma_turn(const optune_call *call, optune_plan *plan, int module,
                             const conv2d_shape *s);

matmul_gpu implicit_mma_product(const optune_call *call, const conv2d_shape *s);

/* Relay's condition, with the pixels where it has the batch: they, the channels of a group and its
 * output channels fall into fragments. */
bool implicit_mma_divides(const optune_task *task, char *why);

#endif
