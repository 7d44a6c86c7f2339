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

/* False while anything but the batch is unknown; one that is known at run time counts as 1. */
bool global_shape_of(const optune_call *call, global_shape *s);

#endif
