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

/* Indices that mean a slice each, so that trials look up in all of data. */
static inline bool take_range(const optune_call *call, double *low, double *high)
{
    const double n = (double)call->input[0].type.dim[take_axis(call)].min;
    *low = -n;
    *high = n - 1;
    return true;
}

#endif
