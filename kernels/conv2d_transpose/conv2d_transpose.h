/* SPDX-License-Identifier: Apache-2.0 */
/* What conv2d_transpose's rows share: the call as numbers. */
#ifndef OPTUNE_KERNELS_CONV2D_TRANSPOSE_H
#define OPTUNE_KERNELS_CONV2D_TRANSPOSE_H

#include "kernels/common/tensor.h"

enum { TRANSPOSE_DATA, TRANSPOSE_WEIGHT }; /* indices of the inputs */

typedef struct transpose_shape {
    int64_t n, ci, h, w;
    int64_t co, kh, kw;
    int64_t oh, ow;
    int64_t sh, sw, pt, pl, dh, dw;
    int64_t groups, ci_g, co_g; /* channels of one group */
    bool f64;
} transpose_shape;

/* False while anything is unknown. */
static inline bool transpose_shape_of(const optune_call *call, transpose_shape *s)
{
    const optune_tensor *data = &call->input[TRANSPOSE_DATA].type;
    const optune_tensor *weight = &call->input[TRANSPOSE_WEIGHT].type;
    const optune_tensor *out = &call->output[0];
    *s = (transpose_shape){0};
    if (!optune_tensor_known(data) || !optune_tensor_known(weight) || !optune_tensor_known(out))
        return false;
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *pad = optune_call_ints(call, "padding");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    const int64_t groups = optune_call_int(call, "groups");
    *s = (transpose_shape){
        .n = data->dim[0].min,
        .ci = data->dim[1].min,
        .h = data->dim[2].min,
        .w = data->dim[3].min,
        .co = out->dim[1].min,
        .kh = weight->dim[2].min,
        .kw = weight->dim[3].min,
        .oh = out->dim[2].min,
        .ow = out->dim[3].min,
        .sh = stride[0],
        .sw = stride[1],
        .pt = pad[0],
        .pl = pad[1],
        .dh = dilation[0],
        .dw = dilation[1],
        .groups = groups,
        .ci_g = data->dim[1].min / groups,
        .co_g = weight->dim[1].min,
        .f64 = data->dtype.bits == 64,
    };
    return true;
}

#endif
