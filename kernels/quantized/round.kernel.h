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

/* Four vectors by what cuts them off while it narrows: half the operations. */
#if VEC_BYTES == 64 && defined(__AVX512BW__)
#define ROUND_FOUR
typedef i32 round_words __attribute__((vector_size(64)));
typedef u32 word32 __attribute__((vector_size(64)));

INLINE round_words round_four(const singles v[4])
{
    const singles least = (float)(OUT_LEAST - (OUT_ZERO)) - (singles){0};
    const singles most = (float)(OUT_MOST - (OUT_ZERO)) - (singles){0};
    const round_words turn = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    round_words w[4], all;
    UNROLL(4)
    for (int q = 0; q < 4; q++) {
        singles x = v[q];
        if (OUT_LEAST != ((BYTE_T)-1 < 0 ? -128 : 0))
            __asm__("vmaxps %2, %1, %0" : "=v"(x) : "v"(x), "v"(least));
        /* What is no number stays so, of which the least integer is made. */
        __asm__("vminps %1, %2, %0" : "=v"(x) : "v"(x), "v"(most));
        __asm__("vcvtps2dq %1, %0" : "=v"(w[q]) : "v"(x));
    }
    UNROLL(2)
    for (int q = 0; q < 4; q += 2) {
        __asm__("vpackssdw %2, %1, %0" : "=v"(w[q]) : "v"(w[q]), "v"(w[q + 1]));
        if (OUT_ZERO)
            __asm__("vpaddsw %2, %1, %0"
                    : "=v"(w[q])
                    : "v"(w[q]),
                      "v"((round_words)(((u32)(OUT_ZERO)&0xffffu) * 0x10001u - (word32){0})));
    }
    if ((BYTE_T)-1 < 0)
        __asm__("vpacksswb %2, %1, %0" : "=v"(all) : "v"(w[0]), "v"(w[2]));
    else
        __asm__("vpackuswb %2, %1, %0" : "=v"(all) : "v"(w[0]), "v"(w[2]));
    __asm__("vpermd %1, %2, %0" : "=v"(all) : "v"(all), "v"(turn));
    return all;
}

/* Four vectors of `at_once` pixels, 1, 2 or 4, of which the first `n` are put, `apart`. */
INLINE void round_put_four(BYTE_T *out, i64 apart, const singles v[4], const int at_once, i64 n,
                           const int channels)
{
    const round_words all = round_four(v);
    UNROLL(4)
    for (int p = 0; p < at_once; p++)
        if (p < n)
            __builtin_memcpy(out + p * apart, (const char *)&all + p * (64 / at_once),
                             (usize)MIN(channels, 64 / at_once));
}
#endif

/* Sums by the scales of their channels. */
INLINE singles round_scaled(vec sums, const float *scale)
{
    return __builtin_convertvector((whole32)sums, singles) * *(const singles_at *)scale;
}

#endif
