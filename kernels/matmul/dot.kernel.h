/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of numbers narrower than their sums, for CPU bodies: 16-bit floats summed in float32,
 * 8-bit integers in int32.
 *
 * The one idea: both operands are read as words of 32 bits, each WORD numbers of consecutive depth,
 * so that one loop is all of them: a step takes a word of a row, in all lanes, and a word of VLEN
 * columns, and adds WORD products to each sum. A row of [rows][depth] is such words as it lies in
 * memory; columns become panels [depth / WORD][DOT_NR].
 *
 * How a step is made (DOT, from the plan):
 *     DOT_WIDE  a number a word: floats made of 16-bit ones while packing (any CPU)
 *     DOT_PAIRS two 16-bit integers made of 8-bit ones while packing (any CPU)
 *     DOT_BF16  two bfloat16, as they are (AVX-512 BF16; denormals count as zero, in
 *               tiles, too)
 *     DOT_I8    four 8-bit integers, as they are (AVX-512 VNNI). It multiplies unsigned ones by
 *               signed ones: 128 is added to those of rows, and taken back by OFFSETS, minus 128
 *               times the sum of every column, which stand in front of a panel. Or, with
 *               DOT_COLUMNS_MOVED, a body adds 128 to those of columns itself
 *     DOT_TILE_BF16, DOT_TILE_I8 what tiles read (AMX): two bfloat16, four signed integers, as they
 *               are; a step of vectors is for where the system keeps tiles from a program
 *     DOT_TILE_F16 a float16 as two bfloat16, of whose sum it is made to the last bit: the leading
 *               8 bits of its fraction, and the rest. Rows are there with both exchanged, too, so
 *               that two steps make all four products. An infinity times a rest of zero is no
 *               number: sums that are not finite are made again of the numbers themselves
 *
 * Macros from the plan: IN_T (what the operands are in memory: unsigned short, signed or unsigned
 * char), BRAIN (16-bit floats are bfloat16), DTYPE (of sums: float or int), OUT_T (of the output)
 * and OUT_HALF (that is unsigned short), DOT_MR and DOT_NV (the tile: rows, vectors), DOT_KU (steps
 * unrolled), K, K_WORDS (words of a row of K). Instructions are written as such: a body includes no
 * header of the compiler's, whose names for them differ.
 */
#ifndef OPTUNE_KERNELS_MATMUL_DOT_H
#define OPTUNE_KERNELS_MATMUL_DOT_H

#include "kernels/common/epilogue_half.kernel.h"
#include "kernels/common/turn.kernel.h"

#define DOT_WIDE 1
#define DOT_PAIRS 2
#define DOT_BF16 3
#define DOT_I8 4
#define DOT_TILE_BF16 5
#define DOT_TILE_I8 6
#define DOT_TILE_F16 7

#ifndef DOT_COLUMNS_MOVED
#define DOT_COLUMNS_MOVED 0
#endif
#define DOT_NR (DOT_NV * VLEN)
#define DOT_BYTES (DOT == DOT_I8 || DOT == DOT_TILE_I8)
#define DOT_PLAIN                                                                              \
    (DOT >= DOT_BF16 && DOT <= DOT_TILE_I8) /* words are operands as they lie in memory */
#define DOT_SPLIT (DOT == DOT_TILE_F16)
#define WORD (DOT == DOT_WIDE || DOT_SPLIT ? 1 : DOT_BYTES ? 4 : 2)
#define OFFSETS (DOT == DOT_I8)
#define PANEL_WORDS ((K_WORDS + OFFSETS) * DOT_NR) /* of a panel */

typedef u32 words __attribute__((vector_size(VEC_BYTES)));
typedef u32 words_at __attribute__((vector_size(VEC_BYTES), aligned(1), may_alias));
typedef i32 sums32 __attribute__((vector_size(VEC_BYTES)));
typedef u32 word_at __attribute__((aligned(1), may_alias));

/* Both halves of float16, as words, and these the other way round. An infinity's rest is zero, that
 * of a NaN, whose lead may be an infinity, a NaN. */
INLINE words dot_split(halves h)
{
    const floats x = floats_of_halves(h);
    const words lead = (words)x & 0xffff0000u;
    const words rest = (words)(x - (floats)lead) & (words)(x != (floats)lead);
    return lead >> 16 | (rest & 0xffff0000u);
}
INLINE u32 dot_split_one(unsigned short h)
{
    const float x = float_of_half(h);
    const u32 lead = ot_float_bits(x) & 0xffff0000u;
    const float front = ot_bits_float(lead);
    return lead >> 16 | (x == front ? 0 : ot_float_bits(x - front) & 0xffff0000u);
}
INLINE words dot_exchanged(words w)
{
    return w << 16 | w >> 16;
}

/* What was split. */
INLINE floats dot_joined(words w)
{
    return (floats)(w << 16) + (floats)(w & 0xffff0000u);
}
INLINE float dot_joined_one(u32 w)
{
    return ot_bits_float(w << 16) + ot_bits_float(w & 0xffff0000u);
}

/* acc + the products of a word of a row and of VLEN columns. */
INLINE vec dot_step(vec acc, u32 a, words b)
{
#if DOT == DOT_WIDE
    return acc + ot_bits_float(a) * (vec)b;
#elif DOT_SPLIT
    return acc + dot_joined_one(a) * dot_joined(b);
#elif DOT == DOT_BF16 || DOT == DOT_TILE_BF16
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(a - (words){0}), "v"(b));
    return acc;
#elif DOT_BYTES && DOT_COLUMNS_MOVED
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(b), "v"(a - (words){0}));
    return acc;
#elif DOT_BYTES
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"((a ^ 0x80808080u) - (words){0}), "v"(b));
    return acc;
#elif (VEC_BYTES <= 32 && defined(__AVX2__)) || (VEC_BYTES == 64 && defined(__AVX512BW__))
    sums32 sum;
    __asm__("vpmaddwd %2, %1, %0" : "=v"(sum) : "v"(a - (words){0}), "v"(b));
    return acc + sum;
#else
    const sums32 s = (sums32)b;
    return acc + (sums32)((words)((s << 16) >> 16) * (u32)(i32)(short)a) +
           (sums32)((words)(s >> 16) * (u32)((i32)a >> 16));
#endif
}

/* The word of `n` numbers, WORD at most, `apart` in memory; zeros behind them. */
INLINE u32 dot_word_of(const IN_T *from, i64 apart, int n)
{
    u32 word = 0;
    for (int i = 0; i < WORD && i < n; i++) {
        const IN_T x = from[i * apart];
#if DOT == DOT_WIDE
        word = ot_float_bits(BRAIN ? float_of_bfloat(x) : float_of_half(x));
#elif DOT_SPLIT
        word = dot_split_one(x);
#elif DOT == DOT_PAIRS
        word |= (u32)(unsigned short)(short)x << 16 * i;
#else
        word |= (u32)(sizeof(IN_T) == 1 ? (unsigned char)x : (unsigned short)x)
                << (int)(8 * sizeof(IN_T)) * i;
#endif
    }
    return word;
}

/* Word k of a row of K numbers, with zeros behind the last of them. */
INLINE u32 dot_word(const IN_T *row, i64 k)
{
    return dot_word_of(row + k * WORD, 1, (int)MIN(WORD, K - k * WORD));
}

/* VLEN words from word k on, all of them whole. */
INLINE words dot_words(const IN_T *row, i64 k)
{
#if DOT_PLAIN
    return *(const words_at *)(row + k * WORD);
#elif DOT == DOT_WIDE
    const halves h = *(const halves_at *)(row + k);
    return (words)(BRAIN ? floats_of_bfloats(h) : floats_of_halves(h));
#elif DOT_SPLIT
    return dot_split(*(const halves_at *)(row + k));
#else
    words w;
    UNROLL(64)
    for (int j = 0; j < VLEN; j++)
        w[j] = dot_word(row, k + j);
    return w;
#endif
}

/* The words of a row, one behind the other; zeros up to `end`. */
INLINE void dot_pack_row(u32 *to, const IN_T *row, i64 end)
{
    i64 k = 0;
    for (; (k + VLEN) * WORD <= K; k += VLEN)
        *(words_at *)(to + k) = dot_words(row, k);
    for (; k < end; k++)
        to[k] = k < K_WORDS ? dot_word(row, k) : 0;
}

/* A panel of `cols` columns, rows of K numbers in memory, and zeros beside them. It has `end`
 * words, K_WORDS or more. */
INLINE void dot_pack_panel(u32 *to, const IN_T *from, const int cols, i64 end)
{
    for (int j = 0; j < DOT_NR; j += VLEN) {
        i64 k = 0;
        for (; (k + VLEN) * WORD <= K; k += VLEN) {
            vec r[VLEN];
            UNROLL(64)
            for (int i = 0; i < VLEN; i++)
                r[i] = j + i < cols ? (vec)dot_words(from + (j + i) * (i64)K, k) : (vec){0};
            vec_turn(r);
            UNROLL(64)
            for (int i = 0; i < VLEN; i++)
                *(words_at *)(to + (k + i) * DOT_NR + j) = (words)r[i];
        }
        for (; k < end; k++)
            for (int i = 0; i < VLEN; i++)
                to[k * DOT_NR + j + i] =
                    j + i < cols && k < K_WORDS ? dot_word(from + (j + i) * (i64)K, k) : 0;
    }
}

/* Minus 128 times the sum of each of `cols` columns. */
INLINE void dot_offsets(u32 *to, const IN_T *from, const int cols)
{
    for (int j = 0; j < DOT_NR; j++) {
        i32 sum = 0;
        for (i64 k = 0; j < cols && k < K; k++)
            sum += (i32)from[j * (i64)K + k];
        to[j] = (u32)sum * (u32)-128;
    }
}

typedef vec dot_acc[DOT_MR][DOT_NV];

/* acc[i][:] += words a[i * a_row + k * a_k] times those of columns at b + k * b_k, k < depth. */
INLINE void dot_mac(dot_acc acc, const int rows, i64 depth, const word_at *a, i64 a_row,
                    i64 a_k, const u32 *b, i64 b_k)
{
    UNROLL(DOT_KU)
    for (i64 k = 0; k < depth; k++, a += a_k, b += b_k) {
        words bv[DOT_NV];
        UNROLL(64)
        for (int j = 0; j < DOT_NV; j++)
            bv[j] = *(const words_at *)(b + j * VLEN);
        UNROLL(64)
        for (int i = 0; i < rows; i++) {
            UNROLL(64)
            for (int j = 0; j < DOT_NV; j++)
                acc[i][j] = dot_step(acc[i][j], a[i * a_row], bv[j]);
        }
    }
}

/* Numbers of the output as sums. */
INLINE DTYPE dot_one(OUT_T x)
{
#if OUT_HALF
    return BRAIN ? float_of_bfloat(x) : float_of_half(x);
#else
    return x;
#endif
}
INLINE vec dot_load(const OUT_T *p)
{
#if OUT_HALF
    const halves h = *(const halves_at *)p;
    return BRAIN ? floats_of_bfloats(h) : floats_of_halves(h);
#else
    return load(p);
#endif
}

/* The first `lanes` numbers of a vector. */
#if VEC_BYTES == 64 && defined(__AVX512BW__) && defined(__AVX512VL__)
#define DOT_PUT_SOME(out, v, lanes)                                                            \
    do {                                                                                       \
        const unsigned short some = (unsigned short)((1u << (lanes)) - 1);                     \
        if (sizeof(OUT_T) == 2)                                                                \
            __asm__ volatile("vmovdqu16 %1, (%0)%{%2%}"                                        \
                             :                                                                 \
                             : "r"(out), "v"(v), "Yk"(some)                                    \
                             : "memory");                                                      \
        else                                                                                   \
            __asm__ volatile("vmovdqu32 %1, (%0)%{%2%}"                                        \
                             :                                                                 \
                             : "r"(out), "v"(v), "Yk"(some)                                    \
                             : "memory");                                                      \
    } while (0)
#else
#define DOT_PUT_SOME(out, v, lanes)                                                            \
    for (int l = 0; l < (lanes); l++)                                                          \
    (out)[l] = (v)[l]
#endif

/* The first `lanes` sums as numbers of the output. */
INLINE void dot_put(OUT_T *out, vec sums, const int lanes)
{
#if OUT_HALF
    const halves h = BRAIN ? bfloats_of_floats(sums) : halves_of_floats(sums);
    if (lanes == VLEN)
        *(halves_at *)out = h;
    else
        DOT_PUT_SOME(out, h, lanes);
#else
    if (lanes == VLEN)
        store(out, sums);
    else
        DOT_PUT_SOME(out, sums, lanes);
#endif
}

/* What is fused behind the call, of elements o on of the output. */
#if OUT_HALF
#define dot_fused(sums, arg, o, lanes) epilogue_halves(sums, arg, o, lanes)
#else
#define dot_fused(sums, arg, o, lanes) epilogue(sums, arg, o, lanes)
#endif

/* `lanes` sums and what is added to them, as numbers of the output from out[o] on; arg is that of
 * the stage. */
INLINE void dot_store(OUT_T *out, i64 o, vec sums, const OUT_T *add, const int lanes,
                      void *const *arg)
{
    if (add && lanes == VLEN)
        sums += dot_load(add);
    else
        for (int l = 0; add && l < lanes; l++)
            sums[l] += dot_one(add[l]);
    dot_put(out + o, dot_fused(sums, arg, o, lanes), lanes);
}

#endif
