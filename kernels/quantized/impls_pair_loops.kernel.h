/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_add and quantized_multiply, generic: an item is an element of the output. Macros from
 * the plan: those of pair.h. */
#include "kernels/common/generic_body.kernel.h"
#include "kernels/quantized/pair.kernel.h"

/* Adding it to a float of less than 2^22 rounds that to a whole number, halves to the even one. */
#define WHOLE 12582912.0f

INLINE i64 items(const generic_call *c)
{
    DIMS(out, O0);
    return elements(out, RANK);
}

INLINE float combined(float a, float b)
{
    const float v = undivided(a, b, a - (float)(A_ZERO), b - (float)(B_ZERO));
    return MERGED ? v : quotient(v);
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    for (; first < last; first++) {
        float v = combined((float)READ(0, first), (float)READ(1, first));
        if (!(v > OUT_LEAST - (OUT_ZERO)))
            v = OUT_LEAST - (OUT_ZERO);
        if (v > OUT_MOST - (OUT_ZERO))
            v = OUT_MOST - (OUT_ZERO);
        const float whole = v + WHOLE;
        WRITE(0, first, (i64)(whole - WHOLE) + (OUT_ZERO));
    }
}

GENERIC_ENTRY
