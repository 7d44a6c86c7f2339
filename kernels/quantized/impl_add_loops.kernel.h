/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_add, generic: an item is an element of the output. Macros from the plan: those of
 * add.h, INVERSE (1 / SCALE, rounded). */
#include "kernels/common/generic_body.kernel.h"
#include "kernels/quantized/quotient.kernel.h"

/* Adding it to a float of less than 2^22 rounds that to a whole number, halves to the even one. */
#define WHOLE 12582912.0f

INLINE i64 items(const generic_call *c)
{
    DIMS(out, O0);
    return elements(out, RANK);
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    for (; first < last; first++) {
        /* Products by themselves: nothing makes one operation of these and the sum. */
        const float a = FMA((float)READ(0, first) - (float)(A_ZERO), A_SCALE, 0.0f);
        const float b = FMA((float)READ(1, first) - (float)(B_ZERO), B_SCALE, 0.0f);
        float v = quotient(a + b);
        if (!(v > OUT_LEAST - (OUT_ZERO)))
            v = OUT_LEAST - (OUT_ZERO);
        if (v > OUT_MOST - (OUT_ZERO))
            v = OUT_MOST - (OUT_ZERO);
        const float whole = v + WHOLE;
        WRITE(0, first, (i64)(whole - WHOLE) + (OUT_ZERO));
    }
}

GENERIC_ENTRY
