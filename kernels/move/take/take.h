/* SPDX-License-Identifier: Apache-2.0 */
/* What take, gather and scatter_add share: their axis, what is an index, what it means. Host code
 * only. */
#ifndef OPTUNE_KERNELS_TAKE_H
#define OPTUNE_KERNELS_TAKE_H

#include "kernels/host/host.h"

/* Counted from the front; the rank of data must be known. */
static inline int take_axis(const optune_call *call)
{
    const int64_t axis = optune_call_int(call, "axis");
    return (int)(axis < 0 ? axis + call->input[0].type.rank : axis);
}

static inline bool take_is_index(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_UNKNOWN ||
           (dtype.code == OPTUNE_DTYPE_INT && dtype.lanes <= 1 &&
            (dtype.bits == 32 || dtype.bits == 64));
}

static inline int64_t take_slice(double index, int64_t n)
{
    const double at = index < 0 ? index + (double)n : index;
    return at < 0 ? 0 : at > (double)(n - 1) ? n - 1 : (int64_t)at;
}

/* Input 1 holds indices that mean a slice each, so that trials look up in all of data. */
bool take_range(const optune_call *call, int input, double *low, double *high);
/* What is looked up is read and written; how much of data is never read is not known. */
double take_bytes(const optune_call *call);

/* For `applies` of implementations of take that move whole elements, of 1, 2, 4 or 8 bytes;
 * take_moves_known: and constant shapes. */
bool take_moves_bytes(const optune_call *call, char *why);
bool take_moves_known(const optune_call *call, char *why);

/* What the rows of these ops say alike; the rest is the file's own. */
#define TAKE_OP                                                                                \
    .inputs = inputs, .attrs = attrs, .n_outputs = 1, .pattern = OPTUNE_OPAQUE,                \
    .support_level = 3, .types = types, .reference = reference, .presets = presets,            \
    .samples = samples, .range = take_range, .gradient = gradient

#endif
