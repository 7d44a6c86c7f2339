/* SPDX-License-Identifier: Apache-2.0 */
/* What conv2d_transpose's rows share: the call as numbers. */
#ifndef OPTUNE_KERNELS_CONV2D_TRANSPOSE_H
#define OPTUNE_KERNELS_CONV2D_TRANSPOSE_H

#include "kernels/convolution/shape.h"

enum { TRANSPOSE_DATA, TRANSPOSE_WEIGHT }; /* indices of the inputs */

/* False while anything is unknown. */
static inline bool transpose_shape_of(const optune_call *call, conv2d_shape *s)
{
    const optune_tensor *data = &call->input[TRANSPOSE_DATA].type;
    const optune_tensor *weight = &call->input[TRANSPOSE_WEIGHT].type;
    const optune_tensor *out = &call->output[0];
    *s = (conv2d_shape){0};
    if (!optune_tensor_known(data) || !optune_tensor_known(weight) || !optune_tensor_known(out))
        return false;
    conv2d_numbers(call, data, out, weight->dim[2].min, weight->dim[3].min, s);
    return true;
}

#endif
