/* SPDX-License-Identifier: Apache-2.0 */
/* gather, generic: an item is one element of the output. AXIS: what the indices count along. */
#include "kernels/move/take/slice.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(each, X1);
    return elements(each, X1_RANK);
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(dim, X0);
    DIMS(each, X1);
    const i64 inner = elements(each + AXIS + 1, X1_RANK - AXIS - 1);
    const i64 n = dim[AXIS], line = each[AXIS] * inner;
    for (; first < last; first++)
        c->o0[first] =
            n ? c->x0[(first / line * n + slice((i64)c->x1[first], n)) * inner + first % inner]
              : 0;
}

GENERIC_ENTRY
