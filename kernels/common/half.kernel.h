/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit floats on CPUs, under the names that kernels/common/gpu.kernel.h gives them: they
 * travel as unsigned short, arithmetic is float's; to nearest, ties to even, and a NaN stays
 * one. */
#ifndef OPTUNE_KERNELS_COMMON_HALF_H
#define OPTUNE_KERNELS_COMMON_HALF_H

#include "kernels/common/cpu.kernel.h"

INLINE u32 ot_float_bits(float f)
{
    u32 bits;
    __builtin_memcpy(&bits, &f, sizeof bits);
    return bits;
}
INLINE float ot_bits_float(u32 bits)
{
    float f;
    __builtin_memcpy(&f, &bits, sizeof f);
    return f;
}

/* The exponent is moved by a product, which also makes denormals normal. */
INLINE float float_of_half(unsigned short h)
{
    const u32 sign = (u32)(h & 0x8000) << 16, rest = (u32)(h & 0x7fff) << 13;
    const float size = ot_bits_float(rest) * 0x1p112f;
    return ot_bits_float(sign | (rest >= 0x0f800000 ? rest | 0x7f800000 : ot_float_bits(size)));
}

INLINE unsigned short half_of_float(float f)
{
    const u32 sign = ot_float_bits(f) >> 16 & 0x8000;
    const u32 bits = ot_float_bits(f) & 0x7fffffff;
    /* below 2^-14: the sum with 1/2 rounds to a multiple of the smallest denormal */
    const u32 tiny = ot_float_bits(ot_bits_float(bits) + 0.5f) - 0x3f000000;
    const u32 normal = (bits + 0xfff + (bits >> 13 & 1) - 0x38000000) >> 13;
    return (unsigned short)(sign | (bits > 0x7f800000    ? 0x7e00
                                    : bits >= 0x477ff000 ? 0x7c00
                                    : bits < 0x38800000  ? tiny
                                                         : normal));
}

INLINE float float_of_bfloat(unsigned short b)
{
    return ot_bits_float((u32)b << 16);
}

INLINE unsigned short bfloat_of_float(float f)
{
    const u32 bits = ot_float_bits(f);
    return (unsigned short)(f != f ? bits >> 16 | 64
                                   : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
