/* SPDX-License-Identifier: Apache-2.0 */
/* dense_nbits, generic: an item is an element of the output. */
#include "kernels/common/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(data, X0);
    DIMS(weight, X1);
    return data[0] * weight[0];
}

/* An integer of the weight, whose rows are `bytes` long. */
INLINE int level(const generic_call *c, i64 row, i64 bytes, i64 k)
{
#if BITS == 8
    return (int)READ(1, row * bytes + k);
#else
    const int byte = (int)READ(1, row * bytes + k / 2) & 255;
    const int q = k % 2 ? byte >> 4 : byte & 15;
    return SIGNED && q > 7 ? q - 16 : q;
#endif
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(data, X0);
    DIMS(weight, X1);
    DIMS(scale, X2);
    const i64 n = weight[0], depth = data[1], bytes = weight[1], groups = scale[1];
    const i64 group = GROUP ? GROUP : depth;
    for (; first < last; first++) {
        const i64 row = first / n * depth, column = first % n;
        ACC sum = 0;
        for (i64 g = 0; g < groups; g++) {
            ACC part = 0;
#if INPUTS > 3
            const ACC zero = (ACC)READ(3, column * groups + g);
#else
            const ACC zero = MIDDLE;
#endif
            for (i64 k = g * group; k < MIN((g + 1) * group, depth); k++)
                part += (ACC)READ(0, row + k) * ((ACC)level(c, column, bytes, k) - zero);
            sum += part * (ACC)READ(2, column * groups + g);
        }
        WRITE(0, first, sum);
    }
}

GENERIC_ENTRY
