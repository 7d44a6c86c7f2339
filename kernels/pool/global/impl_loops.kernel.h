/* SPDX-License-Identifier: Apache-2.0 */
/* global_avg_pool2d, generic: an item is a channel of an image. */
#include "kernels/common/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(dim, X0);
    return dim[0] * dim[1] * BLOCK;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(dim, X0);
    const i64 pixels = dim[2] * dim[3];
    for (; first < last; first++) {
        ACC sum = 0;
        for (i64 i = 0; i < pixels; i++)
            sum += (ACC)READ(0, (first / BLOCK * pixels + i) * BLOCK + first % BLOCK);
        WRITE(0, first, sum / (ACC)pixels);
    }
}

GENERIC_ENTRY
