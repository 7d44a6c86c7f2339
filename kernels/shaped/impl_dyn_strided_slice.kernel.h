/* SPDX-License-Identifier: Apache-2.0 */
/* dyn_strided_slice, generic: an item is an element of as many as there may be. */
#include "kernels/common/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(dim, X0);
    (void)c;
    return elements(dim, X0_RANK);
}

INLINE i64 within(i64 at, i64 extent, i64 low, i64 high)
{
    at += at < 0 ? extent : 0;
    return at < low ? low : at > high ? high : at;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(dim, X0);
    DIMS(given, X1);
    i64 begin[8], step[8], n[8], all = 1;
    for (int d = 0; d < X0_RANK; d++) {
        begin[d] = 0;
        step[d] = 1;
        n[d] = dim[d];
        if (d < given[0]) {
            const i64 by = c->x3[d], low = by < 0 ? -1 : 0;
            const i64 high = by < 0 ? dim[d] - 1 : dim[d];
            const i64 from = within(c->x1[d], dim[d], low, high);
            const i64 to = within(c->x2[d], dim[d], low, high);
            const i64 span = by < 0 ? from - to : to - from;
            const u64 stride = by < 0 ? 0 - (u64)by : (u64)by;
            begin[d] = from;
            step[d] = by;
            n[d] = span > 0 && stride ? (i64)(((u64)span - 1) / stride) + 1 : 0;
        }
        all *= n[d];
    }
    for (; first < last; first++) {
        i64 rest = first, from = 0, stride = 1;
        for (int d = X0_RANK - 1; d >= 0 && first < all; d--) {
            from += (begin[d] + rest % n[d] * step[d]) * stride;
            rest /= n[d];
            stride *= dim[d];
        }
        c->o0[first] = first < all ? c->x0[from] : 0;
    }
}

GENERIC_ENTRY
