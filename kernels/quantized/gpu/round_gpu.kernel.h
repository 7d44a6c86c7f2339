/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of quantised bodies on GPUs: products of four 8-bit integers, and floats as 8-bit integers.
 * Macros from the plan: OUT_ZERO, OUT_LEAST, OUT_MOST (kernels/quantized/quantized.h); X_ZERO and
 * X_SIGNED for ZEROS and DOT4.
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_GPU_ROUND_GPU_H
#define OPTUNE_KERNELS_QUANTIZED_GPU_ROUND_GPU_H

#include "kernels/common/gpu.kernel.h"

#define ZEROS ((u32)((X_ZERO)&0xff) * 0x1010101u) /* a word of the data's zero */

/* Byte `i` of a word. */
#define BYTE_SIGNED(w, i) ((int)((u32)(w) << (24 - 8 * (i))) >> 24)
#define BYTE_PLAIN(w, i) ((int)((u32)(w) >> (8 * (i)) & 0xff))

/* DOT4: sum + the products of the bytes of x, which have a sign if X_SIGNED, and of w, with one. */
#if defined(OT_CUDA) && OT_CC >= 61
#define OT_DOT4(name, type)                                                                    \
    INLINE int name(u32 x, u32 w, int sum)                                                     \
    {                                                                                          \
        asm("dp4a." type ".s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(w));                 \
        return sum;                                                                            \
    }
OT_DOT4(DOT4_U, "u32")
OT_DOT4(DOT4_S, "s32")
#elif defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#define DOT4_U(x, w, sum) (dot_4x8packed_us_int(x, w) + (sum))
#define DOT4_S(x, w, sum) (dot_4x8packed_ss_int(x, w) + (sum))
#else
#define OT_DOT4(name, byte_of)                                                                 \
    INLINE int name(u32 x, u32 w, int sum)                                                     \
    {                                                                                          \
        return sum + byte_of(x, 0) * BYTE_SIGNED(w, 0) + byte_of(x, 1) * BYTE_SIGNED(w, 1) +   \
               byte_of(x, 2) * BYTE_SIGNED(w, 2) + byte_of(x, 3) * BYTE_SIGNED(w, 3);          \
    }
OT_DOT4(DOT4_U, BYTE_PLAIN)
OT_DOT4(DOT4_S, BYTE_SIGNED)
#endif

#if X_SIGNED
#define DOT4(x, w, sum) DOT4_S(x, w, sum)
#else
#define DOT4(x, w, sum) DOT4_U(x, w, sum)
#endif

/* Adding it to a float of less than 2^22 leaves the nearest whole number, of two the even one, in
 * the low bits, with OUT_ZERO in it as far as that is even, which changes none of that. */
#define ROUND_BY (12582912.0f + ((OUT_ZERO)-ROUND_ODD))
#define ROUND_ODD ((OUT_ZERO)&1)

#ifdef OT_OPENCL
#define LARGER(a, b) fmax(a, b)
#define SMALLER(a, b) fmin(a, b)
#else
#define LARGER(a, b) fmaxf(a, b)
#define SMALLER(a, b) fminf(a, b)
#endif

/* The least for what is no number. */
INLINE float round_limited(float v)
{
    v = LARGER(v, (float)(OUT_LEAST - (OUT_ZERO)));
    return SMALLER(v, (float)(OUT_MOST - (OUT_ZERO)));
}

/* The low byte is round(v) + OUT_ZERO, of what round_limited gave. */
INLINE u32 round_whole(float v)
{
    return FLOAT_BITS(v + ROUND_BY) + ROUND_ODD;
}

/* The low bytes of four. */
INLINE u32 low_bytes(u32 a, u32 b, u32 c, u32 d)
{
#ifdef OT_OPENCL
    return (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | d << 24;
#else
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
#endif
}

VECTOR(words_1, u32, 1);
VECTOR(words_2, u32, 2);
VECTOR(words_4, u32, 4);

/* Of `bytes` bytes, 16, 8, 4, 2 or 1, to a multiple of that. */
INLINE void put_words(GLOBAL unsigned char *to, const u32 *w, const int bytes)
{
    if (bytes == 16) {
        const words_4 x = {{w[0], w[1], w[2], w[3]}};
        STORE_VECTOR((GLOBAL words_4 *)to, x);
    } else if (bytes == 8) {
        const words_2 x = {{w[0], w[1]}};
        STORE_VECTOR((GLOBAL words_2 *)to, x);
    } else if (bytes == 4) {
        const words_1 x = {{w[0]}};
        STORE_VECTOR((GLOBAL words_1 *)to, x);
    } else if (bytes == 2) {
        *(GLOBAL u16 *)to = (u16)w[0];
    } else {
        *to = (unsigned char)w[0];
    }
}

#endif
