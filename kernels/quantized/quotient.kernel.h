/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quotient of quantized_add, behind the words of what includes it. Macros: SCALE, INVERSE
 * (1 / SCALE, rounded), FMA.
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_QUOTIENT_H
#define OPTUNE_KERNELS_QUANTIZED_QUOTIENT_H

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
