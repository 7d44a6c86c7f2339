/* SPDX-License-Identifier: Apache-2.0 */
/* What conv2d_backward_weight's rows share: the call as numbers. */
#ifndef OPTUNE_KERNELS_BACKWARD_WEIGHT_H
#define OPTUNE_KERNELS_BACKWARD_WEIGHT_H

#include "kernels/common/tensor.h"

enum { BACKWARD_GRAD, BACKWARD_DATA }; /* indices of the inputs */

typedef struct backward_shape {
    int64_t n, ci, h, w;
    int64_t co, kh, kw;
    int64_t oh, ow;
    int64_t sh, sw, pt, pl, dh, dw;
    int64_t groups, ci_g, co_g; /* channels of one group */
    bool f64;
} backward_shape;

/* False while anything is unknown. */
static inline bool backward_shape_of(const optune_call *call, backward_shape *s)
{
    const optune_tensor *grad = &call->input[BACKWARD_GRAD].type;
    const optune_tensor *data = &call->input[BACKWARD_DATA].type;
    *s = (backward_shape){0};
    if (!optune_tensor_known(grad) || !optune_tensor_known(data))
        return false;
    const int64_t *kernel = optune_call_ints(call, "kernel_size");
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const int64_t groups = optune_call_int(call, "groups");
    *s = (backward_shape){
        .n = data->dim[0].min,
        .ci = data->dim[1].min,
        .h = data->dim[2].min,
        .w = data->dim[3].min,
        .co = grad->dim[1].min,
        .kh = kernel[0],
        .kw = kernel[1],
        .oh = grad->dim[2].min,
        .ow = grad->dim[3].min,
        .sh = stride[0],
        .sw = stride[1],
        .pt = pad[0],
        .pl = pad[1],
        .dh = dilation[0],
        .dw = dilation[1],
        .groups = groups,
        .ci_g = data->dim[1].min / groups,
        .co_g = grad->dim[1].min / groups,
        .f64 = data->dtype.bits == 64,
    };
    return true;
}

#endif
