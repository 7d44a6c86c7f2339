/* SPDX-License-Identifier: Apache-2.0 */
/* What gather and scatters share: three-dimensional views around their axis, the type relation
 * of indices that have a place for each element. Host code only. */
#ifndef OPTUNE_KERNELS_TAKE_ALONG_H
#define OPTUNE_KERNELS_TAKE_ALONG_H

#include "kernels/host/tensor.h"
#include "kernels/move/take/take.h"

#define ALONG_AXIS                                                                             \
    {                                                                                          \
        .name = "axis", .kind = OPTUNE_ATTR_INT, .value = "0", .min = -OPTUNE_MAX_RANK,        \
        .max = OPTUNE_MAX_RANK - 1,                                                            \
        .description = "what the indices count along; negative: from the end", .shown = true   \
    }

/* `whole` has N along the axis and `each`, with as many elements as the indices, any number: one
 * dtype, otherwise the same dims. Inputs 0 and 1 are data and indices. */
int along_types(optune_call *call, optune_tensor *whole, optune_tensor *each,
                const char *each_name, optune_err *err);

/* The type relation and the operations of what takes data, indices, updates and gives data with the
 * updates in it. `no_bool`: what is said of bools. */
int scatter_types(optune_call *call, const char *no_bool, optune_err *err);
double scatter_flops(const optune_call *call);

#endif
