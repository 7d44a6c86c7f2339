/* SPDX-License-Identifier: Apache-2.0 */
/* Generic pooling: an item is a window. POOL_MEAN says whether it is a mean or a maximum. */
#include "kernels/pool/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(dim, X0);
    return dim[0] * dim[1] * side_y(dim[2]).out * side_x(dim[3]).out * BLOCK;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(dim, X0);
    const pool_side sy = side_y(dim[2]), sx = side_x(dim[3]);
    for (; first < last; first++) {
        const i64 lane = first % BLOCK, x = first / BLOCK % sx.out;
        const i64 y = first / BLOCK / sx.out % sy.out, plane = first / BLOCK / sx.out / sy.out;
        ACC acc = POOL_MEAN ? (ACC)0 : LEAST;
        for (i64 i = first_tap(&sy, y); i < last_tap(&sy, y); i++)
            for (i64 j = first_tap(&sx, x); j < last_tap(&sx, x); j++) {
                const i64 row = plane * dim[2] + position(&sy, y, i);
                const ACC v = (ACC)READ(0, (row * dim[3] + position(&sx, x, j)) * BLOCK + lane);
                acc = POOL_MEAN ? acc + v : v > acc || v != v ? v : acc;
            }
        const i64 count = POOL_MEAN ? counted(&sy, y) * counted(&sx, x) : 1;
        WRITE(0, first, count ? acc / (ACC)count : 0);
    }
}

GENERIC_ENTRY
