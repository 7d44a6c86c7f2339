/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of words of two vectors, lane by lane: PAIRS of 16-bit integers (any CPU) or, without,
 * four of 8 bits, those of the data without a sign (AVX-512 VNNI).
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_WORDS_H
#define OPTUNE_KERNELS_QUANTIZED_WORDS_H

#include "kernels/common/cpu.kernel.h"

#define WORD_NUMBERS (PAIRS ? 2 : 4)
/* What is added to the data, so that it has no sign. */
#define WORD_MOVE (!PAIRS && X_SIGNED ? 128 : 0)

typedef u32 word_vec __attribute__((vector_size(VEC_BYTES)));
typedef u32 word_vec_at __attribute__((vector_size(VEC_BYTES), aligned(4), may_alias));

typedef X_T word_bytes __attribute__((vector_size(VEC_BYTES / 4)));
typedef X_T word_bytes_at __attribute__((vector_size(VEC_BYTES / 4), aligned(1), may_alias));

/* VLEN numbers of the data, each in a word: its byte, or its 16 bits. An instruction, as compilers
 * make many of a conversion over several widths. clang has no register for a vector of 8 bytes. */
INLINE word_vec word_wide(word_bytes b)
{
#if ((VEC_BYTES == 32 && defined(__AVX2__)) || (VEC_BYTES == 64 && defined(__AVX512F__))) &&   \
    !defined(__clang__)
    word_vec w;
    if (PAIRS && X_SIGNED)
        __asm__("vpmovsxbd %1, %0" : "=v"(w) : "v"(b));
    else
        __asm__("vpmovzxbd %1, %0" : "=v"(w) : "v"(b));
#else
    word_vec w = {0};
    UNROLL(16)
    for (int l = 0; l < VLEN; l++)
        w[l] = PAIRS ? (u32)(i32)b[l] : (unsigned char)b[l];
#endif
    return PAIRS && X_SIGNED ? w & 0xffff : w;
}
INLINE word_vec word_wide_at(const X_T *from)
{
#if (VEC_BYTES == 32 && defined(__AVX2__)) || (VEC_BYTES == 64 && defined(__AVX512F__))
    word_vec w;
    if (PAIRS && X_SIGNED)
        __asm__("vpmovsxbd %1, %0" : "=v"(w) : "m"(*(const word_bytes_at *)from));
    else
        __asm__("vpmovzxbd %1, %0" : "=v"(w) : "m"(*(const word_bytes_at *)from));
    return PAIRS && X_SIGNED ? w & 0xffff : w;
#else
    return word_wide(*(const word_bytes_at *)from);
#endif
}

INLINE vec word_step(vec acc, word_vec data, word_vec weight)
{
#if !PAIRS
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(data), "v"(weight));
    return acc;
#elif (VEC_BYTES <= 32 && defined(__AVX2__)) || (VEC_BYTES == 64 && defined(__AVX512BW__))
    vec sum;
    __asm__("vpmaddwd %2, %1, %0" : "=v"(sum) : "v"(data), "v"(weight));
    return acc + sum;
#else
    const vec d = (vec)data, w = (vec)weight;
    return acc + ((vec)((word_vec)d << 16) >> 16) * ((vec)((word_vec)w << 16) >> 16) +
           (d >> 16) * (w >> 16);
#endif
}

#endif
