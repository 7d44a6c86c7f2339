/* SPDX-License-Identifier: Apache-2.0 */
/* dense, generic: an item is an element of the output. */
#include "kernels/common/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(data, X0);
    DIMS(weight, X1);
    return data[0] * weight[0];
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(weight, X1);
    const i64 n = weight[0], depth = weight[1];
    for (; first < last; first++) {
        const i64 row = first / n * depth, column = first % n * depth;
        ACC sum = 0;
        for (i64 k = 0; k < depth; k++)
            sum += (ACC)READ(0, row + k) * (ACC)READ(1, column + k);
#if INPUTS > 2
        sum += (ACC)READ(2, first % n);
#endif
        WRITE(0, first, sum);
    }
}

GENERIC_ENTRY
