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

static inline matmul_gpu implicit_mma_product(const optune_call *call, const conv2d_shape *s)
{
    return (matmul_gpu){
        .b = s->groups,
        .m = s->co_g,
        .n = s->n * s->oh * s->ow,
        .k = implicit_mma_channels(call, s) * s->kh * s->kw,
    };
}

/* Relay's condition, with the pixels where it has the batch: they, the channels of a group and its
 * output channels fall into fragments. */
static inline bool implicit_mma_divides(const optune_task *task, char *why)
{
    conv2d_shape s;
    if (!conv2d_shape_of(task->call, &s))
        return optune_refuse(why, "needs constant shapes");
    const matmul_gpu p = {.m = s.co_g, .n = s.n * s.oh * s.ow, .k = s.ci_g};
    return matmul_gpu_mma_divides(&p, why);
}

#endif
