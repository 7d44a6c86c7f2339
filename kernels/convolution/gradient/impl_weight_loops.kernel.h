/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_backward_weight, generic: an item is a weight. */
#include "kernels/common/generic_body.kernel.h"

INLINE i64 items(const generic_call *c)
{
    DIMS(grad, X0);
    DIMS(data, X1);
    return grad[1] * (data[1] / GROUPS) * KH * KW;
}

INLINE ACC sum_of(const generic_call *c, i64 co, i64 ci, i64 i, i64 j)
{
    DIMS(grad, X0);
    DIMS(data, X1);
    ACC sum = 0;
    for (i64 n = 0; n < grad[0]; n++)
        for (i64 oy = 0; oy < grad[2]; oy++) {
            const i64 y = oy * SH - PT + i * DH;
            for (i64 ox = 0; y >= 0 && y < data[2] && ox < grad[3]; ox++) {
                const i64 x = ox * SW - PL + j * DW;
                if (x < 0 || x >= data[3])
                    continue;
                sum += (ACC)READ(0, ((n * grad[1] + co) * grad[2] + oy) * grad[3] + ox) *
                       (ACC)READ(1, ((n * data[1] + ci) * data[2] + y) * data[3] + x);
            }
        }
    return sum;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(grad, X0);
    DIMS(data, X1);
    const i64 ci_g = data[1] / GROUPS, co_g = grad[1] / GROUPS;
    for (; first < last; first++) {
        const i64 j = first % KW, i = first / KW % KH, k = first / KW / KH % ci_g;
        const i64 co = first / KW / KH / ci_g;
        WRITE(0, first, sum_of(c, co, co / co_g * ci_g + k, i, j));
    }
}

GENERIC_ENTRY
