/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of pixels side by side, with the padding around them, on AVX-512. Macros from the plan: H W
 * (of the data), CI_G (channels), SW (columns from pixel to pixel), those of
 * kernels/matmul/dot.kernel.h.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_PIXELS_H
#define OPTUNE_KERNELS_CONVOLUTION_PIXELS_H

#include "kernels/matmul/dot.kernel.h"

/* Numbers of VLEN pixels of a plane's row, SW apart from column `at` of the data on, as words;
 * zeros where the data has none. */
INLINE words numbers_at(const IN_T *row, i64 at)
{
    const i64 first = at < 0 ? CEIL_DIV(-at, SW) : 0;
    const i64 end = at < W ? MIN((i64)VLEN, CEIL_DIV(W - at, SW)) : 0;
    if (end <= first)
        return (words){0};
#if SW <= 2
    typedef IN_T some __attribute__((vector_size(VLEN * SW * sizeof(IN_T)), may_alias));
    const u64 lanes = ((u64)1 << SW * end) - ((u64)1 << SW * first);
    const u32 read = (u32)lanes & (SW == 2 ? 0x55555555u : 0xffffu);
    some x;
    if (sizeof(IN_T) == 2)
        __asm__("vmovdqu16 %1, %0%{%2%}%{z%}"
                : "=v"(x)
                : "m"(*(const some *)(row + at)), "Yk"(read));
    else
        __asm__("vmovdqu8 %1, %0%{%2%}%{z%}"
                : "=v"(x)
                : "m"(*(const some *)(row + at)), "Yk"(read));
#if SW == 2
    typedef __typeof__(__builtin_choose_expr(sizeof(IN_T) == 2, (u32)0,
                                             (unsigned short)0)) pair;
    typedef pair pairs __attribute__((vector_size(VLEN * sizeof(pair))));
    return __builtin_convertvector((pairs)x, words);
#else
    typedef __typeof__(__builtin_choose_expr(sizeof(IN_T) == 2, (unsigned short)0,
                                             (unsigned char)0)) bits;
    typedef bits some_bits __attribute__((vector_size(VLEN * sizeof(bits))));
    return __builtin_convertvector((some_bits)x, words);
#endif
#else
    words x = {0};
    for (i64 l = first; l < end; l++)
        x[l] = sizeof(IN_T) == 1 ? (unsigned char)row[at + l * SW] : (u32)row[at + l * SW];
    return x;
#endif
}

/* Word c of VLEN pixels. */
INLINE words pixels_at(const IN_T *row, i64 c, i64 at)
{
    words w = {0};
    UNROLL(4)
    for (int i = 0; i < WORD; i++) {
        if (c * WORD + i >= CI_G)
            break;
        const words x = numbers_at(row + (c * WORD + i) * H * W, at);
        w |= x << (32 / WORD * i) % 32;
    }
    return DOT_SPLIT ? dot_split(__builtin_convertvector(w, halves)) : w;
}

#endif
