/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators share that read images between their pixels. Where those are follows from values:
 * a step that is rounded otherwise may be another pixel, so references round each step as bodies
 * do, to float32 but for float64. Host code only.
 */
#ifndef OPTUNE_KERNELS_SAMPLE_H
#define OPTUNE_KERNELS_SAMPLE_H

#include "kernels/host/tensor.h"

static inline double sample_rounded(bool narrow, double x)
{
    return narrow ? (double)(float)x : x;
}

/* Both are of one floating type, `data` is [N,C,...] with pixels along so many axes, `out` has its
 * dtype, rank and channels. */
bool sample_types(int axes, optune_tensor *data, optune_tensor *at, optune_tensor *out);

/* ---- gradients: what was read is weighed once more, and added where it was read -------------- */
int sample_grid_gradient(optune_grad *grad, const optune_call *call, optune_err *err);
int sample_boxes_gradient(optune_grad *grad, const optune_call *call, optune_err *err);

#endif
