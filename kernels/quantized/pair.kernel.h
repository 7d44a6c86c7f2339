/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What quantized_add and quantized_multiply round, behind the words of what includes it. Macros:
 * those of pair.h, FMA.
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_PAIR_KERNEL_H
#define OPTUNE_KERNELS_QUANTIZED_PAIR_KERNEL_H

/* Of the integers a and b, which are x and y above their zeros. MERGED: what is rounded, else that
 * times SCALE. Products by themselves: nothing makes one operation of these and a sum. */
INLINE float undivided(float a, float b, float x, float y)
{
    if (MERGED && IS_PRODUCT)
        return FMA(x * y, A_SCALE, 0.0f) + SHIFT;
    if (MERGED)
        return FMA(a, A_SCALE, FMA(b, B_SCALE, SHIFT));
    const float of_a = FMA(x, A_SCALE, 0.0f), of_b = FMA(y, B_SCALE, 0.0f);
    return IS_PRODUCT ? FMA(of_a, of_b, 0.0f) : of_a + of_b;
}

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

#endif
