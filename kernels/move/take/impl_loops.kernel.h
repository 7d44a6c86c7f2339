/* SPDX-License-Identifier: Apache-2.0 */
/* take, generic: an item is one element of the output. AXIS: what the indices count along. */
#include "kernels/common/generic_body.kernel.h"
#include "kernels/move/take/slice.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(dim, X0);
    DIMS(index, X1);
    dim[AXIS] = 1;
    return elements(dim, X0_RANK) * elements(index, X1_RANK);
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(dim, X0);
    DIMS(index, X1);
    const i64 count = elements(index, X1_RANK), n = dim[AXIS];
    i64 inner = 1;
    for (int d = AXIS + 1; d < X0_RANK; d++)
        inner *= dim[d];
    for (; first < last; first++) {
        const i64 row = first / inner, outer = row / count;
        const i64 from = slice((i64)c->x1[row % count], n);
        c->o0[first] = n ? c->x0[(outer * n + from) * inner + first % inner] : 0;
    }
}

GENERIC_ENTRY
