/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of take share: its axis, which slice an index means. Host code only. */
#ifndef OPTUNE_KERNELS_TAKE_H
#define OPTUNE_KERNELS_TAKE_H

#include "kernels/host/host.h"

/* Counted from the front; the rank of data must be known. */
static inline int take_axis(const optune_call *call)
{
    const int64_t axis = optune_call_int(call, "axis");
    return (int)(axis < 0 ? axis + call->input[0].type.rank : axis);
}

static inline int64_t take_slice(double index, int64_t n)
{
    const double at = index < 0 ? index + (double)n : index;
    return at < 0 ? 0 : at > (double)(n - 1) ? n - 1 : (int64_t)at;
}

#endif
