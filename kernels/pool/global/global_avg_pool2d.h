/* SPDX-License-Identifier: Apache-2.0 */
/* What global_avg_pool2d's rows share: the call as numbers. */
#ifndef OPTUNE_KERNELS_GLOBAL_AVG_POOL2D_H
#define OPTUNE_KERNELS_GLOBAL_AVG_POOL2D_H

#include "kernels/host/tensor.h"

typedef struct global_shape {
    int64_t planes; /* images x channels, or images x blocks of channels */
    int64_t pixels;
    int64_t block; /* channels innermost; 1 for NCHW */
    bool f64;
} global_shape;

/* False while anything is unknown. */
static inline bool global_shape_of(const optune_call *call, global_shape *s)
{
    const optune_tensor *data = &call->input[0].type;
    *s = (global_shape){0};
    if (!optune_tensor_known(data) || !optune_tensor_known(&call->output[0]))
        return false;
    *s = (global_shape){.planes = data->dim[0].min * data->dim[1].min,
                        .pixels = data->dim[2].min * data->dim[3].min,
                        .block = data->rank == 5 ? data->dim[4].min : 1,
                        .f64 = data->dtype.bits == 64};
    return true;
}

#endif
