/* SPDX-License-Identifier: Apache-2.0 */
/* What conv2d_backward_weight's rows share: the call as numbers. */
#ifndef OPTUNE_KERNELS_BACKWARD_WEIGHT_H
#define OPTUNE_KERNELS_BACKWARD_WEIGHT_H

#include "kernels/convolution/shape.h"

enum { BACKWARD_GRAD, BACKWARD_DATA }; /* indices of the inputs */

/* False while anything is unknown. */
static inline bool backward_shape_of(const optune_call *call, conv2d_shape *s)
{
    const optune_tensor *grad = &call->input[BACKWARD_GRAD].type;
    const optune_tensor *data = &call->input[BACKWARD_DATA].type;
    *s = (conv2d_shape){0};
    if (!optune_tensor_known(grad) || !optune_tensor_known(data))
        return false;
    const int64_t *kernel = optune_call_ints(call, "kernel_size");
    conv2d_numbers(call, data, grad, kernel[0], kernel[1], s);
    return true;
}

#endif
