/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of 32 bits, or floats, as 8-bit integers. Macros from the plan: BYTE_T, OUT_ZERO, OUT_LEAST,
 * OUT_MOST (kernels/quantized/quantized.h). DTYPE is int.
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_ROUND_H
#define OPTUNE_KERNELS_QUANTIZED_ROUND_H

#include "kernels/common/cpu.kernel.h"

typedef float singles __attribute__((vector_size(VEC_BYTES)));
typedef float singles_at __attribute__((vector_size(VEC_BYTES), aligned(1), may_alias));
typedef i32 whole32 __attribute__((vector_size(VEC_BYTES)));
typedef BYTE_T bytes_of_vec __attribute__((vector_size(VEC_BYTES / 4)));
typedef BYTE_T bytes_at __attribute__((vector_size(VEC_BYTES / 4), aligned(1), may_alias));

/* Adding it to a float of less than 2^22 leaves the nearest whole number, of two the even one, in
 * the low bits. */
#define ROUND_BY 12582912.0f
#define ROUND_BITS 0x4b400000

/* The least for what is no number. */
INLINE singles round_limited(singles v)
{
    const singles least = (float)(OUT_LEAST - (OUT_ZERO)) - (singles){0};
    const singles most = (float)(OUT_MOST - (OUT_ZERO)) - (singles){0};
#if defined(__AVX512F__) && VEC_BYTES == 64 && !defined(__clang__) /* it has no such built-in */
    v = __builtin_ia32_maxps512_mask(v, least, v, -1, 4);
    return __builtin_ia32_minps512_mask(v, most, v, -1, 4);
#elif defined(__AVX__) && VEC_BYTES == 32
    return __builtin_ia32_minps256(__builtin_ia32_maxps256(v, least), most);
#else
    const whole32 above = v > least;
    v = (singles)((above & (whole32)v) | (~above & (whole32)least));
    const whole32 over = v > most;
    return (singles)((over & (whole32)most) | (~over & (whole32)v));
#endif
}

INLINE bytes_of_vec round_vec(singles v)
{
    const singles whole = round_limited(v) + ROUND_BY;
    return __builtin_convertvector((whole32)whole - ROUND_BITS + (OUT_ZERO), bytes_of_vec);
}

INLINE void round_put(BYTE_T *out, singles v, i64 lanes)
{
    const bytes_of_vec b = round_vec(v);
    if (lanes >= VLEN)
        *(bytes_at *)out = b;
    else
        for (i64 l = 0; l < lanes; l++)
            out[l] = b[l];
}

/* Sums by the scales of their channels. */
INLINE singles round_scaled(vec sums, const float *scale)
{
    return __builtin_convertvector((whole32)sums, singles) * *(const singles_at *)scale;
}

#endif
