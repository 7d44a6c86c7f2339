/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weight as panels of NR channels, and what becomes of their sums. Macros: the shape, PAIRS,
 * PASSES (2: a weight of 16 bits is the sum of two of 8), WORDS (of a window), DOT_NV (vectors of
 * a panel's channels), and of the includer RUN (numbers of a window that lie one behind the other),
 * RUN_WORDS (their words; zeros are behind the last number), MOVE (what was added to the data).
 *
 * A packed weight is [GROUPS][PANELS][PASSES][WORDS][NR] words, and the lists of sums and scales
 * behind it are [GROUPS][PANELS][NR].
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_PANELS_H
#define OPTUNE_KERNELS_QUANTIZED_PANELS_H

#include "kernels/quantized/round.kernel.h"
#include "kernels/quantized/words.kernel.h"

#define NR (DOT_NV * VLEN)
#define CHANNEL_PANELS CEIL_DIV(CO_G, NR)
#define LAST_CHANNELS (CO_G - (CHANNEL_PANELS - 1) * NR)
#define WEIGHT_WORDS ((i64)PASSES * WORDS * NR) /* of a panel */
#define ALL_CHANNELS ((i64)GROUPS * CHANNEL_PANELS * NR)

typedef u32 word_near __attribute__((aligned(1), may_alias));
typedef __typeof__(__builtin_choose_expr(PAIRS, (short)0, (X_T)0)) number; /* of a word */

/* ---- the data ------------------------------------------------------------------------------- */

/* Bits of `flip` turned. */
INLINE void copy_numbers(number *to, const X_T *from, const i64 n, const int flip)
{
    if (PAIRS || flip)
        for (i64 i = 0; i < n; i++)
            to[i] = (number)(from[i] ^ flip);
    else
        __builtin_memcpy(to, from, (usize)n);
}

/* What means 0, likewise. */
INLINE void fill_numbers(number *to, const i64 n, const int flip)
{
    for (i64 i = 0; i < n; i++)
        to[i] = (number)((X_ZERO) ^ flip);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* `rows` pixels of `channels` channels, of vectors of a panel, from `out` on. */
INLINE void panel_finish(const DTYPE *sums, const int *start, const float *scale, BYTE_T *out,
                         i64 rows, const int vectors, const int channels)
{
    /* The sums are in memory: kept in registers for what is done with some of them by turns, some
     * would be in memory while they are summed. */
    __asm__ volatile("" : : "r"(sums) : "memory");
#ifdef ROUND_FOUR
    const int at_once = 4 / vectors; /* pixels */
    UNROLL(1)
    for (i64 i = 0; i < rows; i += at_once) {
        singles v[4];
        UNROLL(4)
        for (int q = 0; q < 4; q++) {
            const int j = q % vectors * VLEN;
            const i64 row = MIN(i + q / vectors, rows - 1);
            v[q] = round_scaled(load(sums + row * NR + j) + load(start + j), scale + j);
        }
        round_put_four(out + i * CO, CO, v, at_once, MIN(rows - i, (i64)at_once), channels);
    }
#else
    UNROLL(4)
    for (int j = 0; j < channels; j += VLEN) {
        const vec add = load(start + j);
        for (i64 i = 0; i < rows; i++)
            round_put(out + i * CO + j, round_scaled(load(sums + i * NR + j) + add, scale + j),
                      channels - j);
    }
#endif
}

/* ---- the weight ----------------------------------------------------------------------------- */

INLINE i32 limited(i32 x)
{
    return x < -128 ? -128 : x > 127 ? 127 : x;
}

/* Number i of word k of output channel o of a group, in this pass; 0 behind the last of a run. */
INLINE i32 weight_at(const W_T *weight, i64 o, i64 k, int i, int pass)
{
    const i64 in_run = k % RUN_WORDS * WORD_NUMBERS + i, n = k / RUN_WORDS * RUN + in_run;
    if (in_run >= RUN)
        return 0;
    const i32 x = weight[(o * CI_G + n % CI_G) * KH * KW + n / CI_G];
    return PASSES == 1 ? x : pass ? x - limited(x) : limited(x);
}

/* arg: weight [CO][CI_G][KH][KW], bias, scale; packed */
void pack(void *const *arg)
{
    const W_T *weight = arg[0];
    int *start = (int *)((u32 *)arg[3] + GROUPS * CHANNEL_PANELS * WEIGHT_WORDS);
    float *scale = (float *)(start + ALL_CHANNELS);
    PARALLEL_FOR_N(2)
    for (i64 g = 0; g < GROUPS; g++)
        for (i64 c = 0; c < CHANNEL_PANELS * NR; c++) {
            const i64 o = g * CO_G + c, at = g * CHANNEL_PANELS * NR + c;
            u32 *to = (u32 *)arg[3] + (g * CHANNEL_PANELS + c / NR) * WEIGHT_WORDS + c % NR;
            i32 all = 0;
            for (int pass = 0; pass < PASSES; pass++)
                for (i64 k = 0; k < WORDS; k++, to += NR) {
                    u32 word = 0;
                    for (int i = 0; i < WORD_NUMBERS; i++) {
                        const i32 x = c < CO_G ? weight_at(weight, o, k, i, pass) : 0;
                        all += x;
                        word |= ((u32)x & (PAIRS ? 0xffffu : 0xffu)) << i * (32 / WORD_NUMBERS);
                    }
                    *to = word;
                }
            start[at] = c < CO_G ? ((const i32 *)arg[1])[o] - (X_ZERO + MOVE) * all : 0;
            scale[at] = c < CO_G ? ((const float *)arg[2])[o] : 0;
        }
}

#endif
