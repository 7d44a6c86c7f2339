/* SPDX-License-Identifier: Apache-2.0 */
/* Generic gradients of pooling: an item is an element of the data, which gathers from the
 * windows that hold it. POOL_MEAN says of which pooling. */
#include "kernels/pool/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(dim, X1);
    return elements(dim, X1_RANK);
}

/* Whether (y, x) is the first largest element of its window. */
INLINE int chosen(const generic_call *c, const pool_side *sy, const pool_side *sx, i64 plane,
                  i64 lane, i64 oy, i64 ox, i64 y, i64 x)
{
    ACC most = 0;
    i64 at = -1;
    for (i64 i = first_tap(sy, oy); i < last_tap(sy, oy); i++)
        for (i64 j = first_tap(sx, ox); j < last_tap(sx, ox); j++) {
            const i64 row = position(sy, oy, i), column = position(sx, ox, j);
            const ACC v =
                (ACC)READ(1, ((plane * sy->in + row) * sx->in + column) * BLOCK + lane);
            if (at < 0 || (most == most && (v > most || v != v))) {
                most = v;
                at = row * sx->in + column;
            }
        }
    return at == y * sx->in + x;
}

INLINE ACC gathered(const generic_call *c, const pool_side *sy, const pool_side *sx, i64 plane,
                    i64 lane, i64 y, i64 x)
{
    ACC sum = 0;
    for (i64 i = 0; i < KH; i++)
        for (i64 j = 0; j < KW; j++) {
            const i64 oy = holder(sy, y, i), ox = holder(sx, x, j);
            if (oy < 0 || ox < 0)
                continue;
            if (!POOL_MEAN && !chosen(c, sy, sx, plane, lane, oy, ox, y, x))
                continue;
            const i64 from = ((plane * sy->out + oy) * sx->out + ox) * BLOCK + lane;
            const i64 count = POOL_MEAN ? counted(sy, oy) * counted(sx, ox) : 1;
            sum += (ACC)READ(0, from) / (ACC)count;
        }
    return sum;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(grad, X0);
    DIMS(dim, X1);
    pool_side sy = side_y(dim[2]), sx = side_x(dim[3]);
    sy.out = grad[2];
    sx.out = grad[3];
    for (; first < last; first++) {
        const i64 lane = first % BLOCK, x = first / BLOCK % dim[3];
        const i64 y = first / BLOCK / dim[3] % dim[2], plane = first / BLOCK / dim[3] / dim[2];
        WRITE(0, first, gathered(c, &sy, &sx, plane, lane, y, x));
    }
}

GENERIC_ENTRY
