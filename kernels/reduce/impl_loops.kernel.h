/* SPDX-License-Identifier: Apache-2.0 */
/* MAP, COMBINE and FINISH over the dims of data that are not kept; an item is one result. */
#include "kernels/common/generic_scalar.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(kept, KEPT);
    return elements(kept, X0_RANK);
}

INLINE void reduce_one(const generic_call *c, i64 item)
{
    DIMS(dim, X0);
    DIMS(kept, KEPT);
    i64 at[8] = {0}, step[8], extent[8], from = 0, stride = 1, count = 1;
    place(item, kept, X0_RANK, at);
    for (int d = X0_RANK - 1; d >= 0; d--) {
        from += at[d] * stride;
        step[d] = stride;
        extent[d] = kept[d] == 1 ? dim[d] : 1;
        count *= extent[d];
        stride *= dim[d];
        at[d] = 0;
    }
    SCALAR sum = (SCALAR)(IDENTITY);
    for (i64 i = 0; i < count; i++) {
        SCALAR x0 = (SCALAR)READ(0, from);
        const SCALAR x1 = (SCALAR)(MAP);
        x0 = sum;
        sum = (SCALAR)(COMBINE);
        for (int d = X0_RANK - 1; d >= 0; d--) {
            from += step[d];
            if (++at[d] < extent[d])
                break;
            from -= step[d] * extent[d];
            at[d] = 0;
        }
    }
    const SCALAR x0 = sum, x1 = (SCALAR)count;
    (void)x1;
    WRITE(0, item, RESULT(FINISH));
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    for (; first < last; first++)
        reduce_one(c, first);
}

GENERIC_ENTRY
