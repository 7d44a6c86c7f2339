/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 16-bit floats of all lanes at once, by the rules of half.kernel.h, whatever DTYPE a
 * body has. Loops over its functions, which choose, would not become vector code.
 *
 * Instructions are written as such: a body includes no header of the compiler's. Those of float16
 * (F16C, AVX-512) do the same to the last bit, but that they keep what a NaN says; the one of
 * bfloat16 (AVX-512 BF16) takes denormals for zero, which is put right where there are some.
 */
#ifndef OPTUNE_KERNELS_COMMON_HALF_LANES_H
#define OPTUNE_KERNELS_COMMON_HALF_LANES_H

#include "kernels/common/half.kernel.h"

typedef float floats __attribute__((vector_size(VEC_BYTES)));
typedef u32 float_bits __attribute__((vector_size(VEC_BYTES)));
typedef unsigned short halves __attribute__((vector_size(VEC_BYTES / 2)));
typedef unsigned short halves_at
    __attribute__((vector_size(VEC_BYTES / 2), aligned(2), may_alias));

/* yes where the mask is all ones, no where it is 0. */
INLINE float_bits bits_where(float_bits mask, float_bits yes, float_bits no)
{
    return (mask & yes) | (~mask & no);
}

INLINE floats floats_of_bfloats(halves b)
{
    return (floats)(__builtin_convertvector(b, float_bits) << 16);
}

INLINE halves bfloats_by_bits(floats f)
{
    const float_bits bits = (float_bits)f, up = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return __builtin_convertvector(bits_where((float_bits)(f != f), bits >> 16 | 64, up),
                                   halves);
}

INLINE halves bfloats_of_floats(floats f)
{
#if VEC_BYTES == 64 && defined(__AVX512BF16__) && defined(__AVX512DQ__)
    halves h;
    unsigned short denormals;
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(h) : "v"(f));
    __asm__("vfpclassps $0x20, %1, %0" : "=k"(denormals) : "v"(f));
    return UNLIKELY(denormals) ? bfloats_by_bits(f) : h;
#else
    return bfloats_by_bits(f);
#endif
}

#if (VEC_BYTES == 64 && defined(__AVX512F__)) || (VEC_BYTES == 32 && defined(__F16C__))
#if VEC_BYTES == 64
#define HALF_REGISTER "v"
#else
#define HALF_REGISTER "x"
#endif

INLINE floats floats_of_halves(halves h)
{
    floats f;
    __asm__("vcvtph2ps %1, %0" : "=" HALF_REGISTER(f) : HALF_REGISTER(h));
    return f;
}

/* To nearest, ties to even, whatever the thread's own rounding is. */
INLINE halves halves_of_floats(floats f)
{
    halves h;
    __asm__("vcvtps2ph $0, %1, %0" : "=" HALF_REGISTER(h) : HALF_REGISTER(f));
    return h;
}

#else

INLINE floats floats_of_halves(halves h)
{
    const float_bits bits = __builtin_convertvector(h, float_bits);
    const float_bits rest = (bits & 0x7fff) << 13;
    const floats size = (floats)rest * 0x1p112f;
    return (floats)((bits & 0x8000) << 16 | bits_where((float_bits)(rest >= 0x0f800000),
                                                       rest | 0x7f800000, (float_bits)size));
}

INLINE halves halves_of_floats(floats f)
{
    const float_bits sign = (float_bits)f >> 16 & 0x8000, bits = (float_bits)f & 0x7fffffff;
    const float_bits tiny = (float_bits)((floats)bits + 0.5f) - 0x3f000000;
    const float_bits normal = (bits + 0xfff + (bits >> 13 & 1) - 0x38000000) >> 13;
    const float_bits large = bits_where((float_bits)(bits > 0x7f800000),
                                        0x7e00 - (float_bits){0}, 0x7c00 - (float_bits){0});
    const float_bits finite = bits_where((float_bits)(bits < 0x38800000), tiny, normal);
    return __builtin_convertvector(
        sign | bits_where((float_bits)(bits >= 0x477ff000), large, finite), halves);
}

#endif

#endif
