/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates joined to elements along AXIS, generic: JOIN(a, b) says how. An item is a line along
 * AXIS, so that no two items meet in one element. Lines next to each other are walked together, row
 * by row, as memory has them.
 */
#include "kernels/move/take/slice.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(dim, X0);
    dim[AXIS] = 1;
    return elements(dim, X0_RANK);
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(dim, X0);
    DIMS(each, X1);
    const i64 inner = elements(dim + AXIS + 1, X0_RANK - AXIS - 1);
    const i64 n = dim[AXIS], m = each[AXIS];
    while (first < last) {
        const i64 outer = first / inner, from = first % inner;
        const i64 width = last - first < inner - from ? last - first : inner - from;
        const i64 to = outer * n * inner + from;
        for (i64 row = 0; row < n; row++)
            for (i64 i = 0; i < width; i++)
                c->o0[to + row * inner + i] = c->x0[to + row * inner + i];
        for (i64 row = 0; n && row < m; row++)
            for (i64 i = 0; i < width; i++) {
                const i64 at = (outer * m + row) * inner + from + i;
                const i64 to_at = to + slice((i64)c->x1[at], n) * inner + i;
                WRITE(0, to_at, JOIN(O0_OF(c->o0[to_at]), READ(2, at)));
            }
        first += width;
    }
}

GENERIC_ENTRY
