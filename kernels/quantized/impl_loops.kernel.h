/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_conv2d, generic: an item is an element of the output. */
#include "kernels/common/generic_body.kernel.h"

/* Adding it to a float of less than 2^22, or a double, rounds that to a whole number, halves to the
 * even one. */
#define REAL X3_T
#define WHOLE ((REAL)12582912 * (sizeof(REAL) == 8 ? (REAL)(1 << 29) : (REAL)1))

INLINE i64 items(const generic_call *c)
{
    DIMS(data, X0);
    DIMS(weight, X1);
    const i64 oh = (data[1] + PT + PB - DH * (weight[2] - 1) - 1) / SH + 1;
    const i64 ow = (data[2] + PL + PR - DW * (weight[3] - 1) - 1) / SW + 1;
    return data[0] * oh * ow * weight[0];
}

INLINE i64 rounded(REAL v)
{
    if (!(v > OUT_LEAST - OUT_ZERO))
        v = OUT_LEAST - OUT_ZERO;
    if (v > OUT_MOST - OUT_ZERO)
        v = OUT_MOST - OUT_ZERO;
    const REAL whole = v + WHOLE;
    return (i64)(whole - WHOLE) + OUT_ZERO;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(data, X0);
    DIMS(weight, X1);
    const i64 oh = (data[1] + PT + PB - DH * (weight[2] - 1) - 1) / SH + 1;
    const i64 ow = (data[2] + PL + PR - DW * (weight[3] - 1) - 1) / SW + 1;
    for (; first < last; first++) {
        const i64 co = first % weight[0], ox = first / weight[0] % ow;
        const i64 oy = first / weight[0] / ow % oh, n = first / weight[0] / ow / oh;
        const i64 channel = co / (weight[0] / GROUPS) * weight[1];
        i64 sum = (i64)READ(2, co);
        for (i64 i = 0; i < weight[2]; i++) {
            const i64 y = oy * SH - PT + i * DH;
            for (i64 j = 0; y >= 0 && y < data[1] && j < weight[3]; j++) {
                const i64 x = ox * SW - PL + j * DW;
                if (x < 0 || x >= data[2])
                    continue;
                const i64 from = ((n * data[1] + y) * data[2] + x) * data[3] + channel;
                for (i64 k = 0; k < weight[1]; k++)
                    sum += ((i64)READ(0, from + k) - (X_ZERO)) *
                           (i64)READ(1, ((co * weight[1] + k) * weight[2] + i) * weight[3] + j);
            }
        }
        WRITE(0, first, rounded((REAL)(i32)sum * READ(3, co)));
    }
}

GENERIC_ENTRY
