/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_add and quantized_multiply, generic: an item is an element of the output. Macros from
 * the plan: those of pair.h, INVERSE (1 / SCALE, rounded). */
#include "kernels/common/generic_body.kernel.h"

/* Adding it to a float of less than 2^22 rounds that to a whole number, halves to the even one. */
#define WHOLE 12582912.0f

/* s / SCALE, rounded once. A device of OpenCL may be off by 2.5 units in the last place: the
 * remainder, which is exact, over SCALE is added until it is the nearest. What is larger is cut. */
INLINE float quotient(float s)
{
    float v = s / SCALE;
#ifdef OT_OPENCL
    for (int i = 0; i < 2; i++)
        if (v > -1024.0f && v < 1024.0f)
            v = FMA(FMA(-v, SCALE, s), INVERSE, v);
#endif
    return v;
}

INLINE i64 items(const generic_call *c)
{
    DIMS(out, O0);
    return elements(out, RANK);
}

/* What is rounded. Products by themselves: nothing makes one operation of these and a sum. */
INLINE float combined(float a, float b)
{
    const float x = a - (float)(A_ZERO), y = b - (float)(B_ZERO);
    if (MERGED && IS_PRODUCT)
        return FMA(x * y, A_SCALE, 0.0f) + SHIFT;
    if (MERGED)
        return FMA(a, A_SCALE, FMA(b, B_SCALE, SHIFT));
    const float of_a = FMA(x, A_SCALE, 0.0f), of_b = FMA(y, B_SCALE, 0.0f);
    return quotient(IS_PRODUCT ? FMA(of_a, of_b, 0.0f) : of_a + of_b);
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
