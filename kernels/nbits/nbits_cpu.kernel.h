/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A weight of 4- or 8-bit integers in groups, as CPU bodies read it: panels of GEMM_NR columns,
 * a column a lane. A panel is its groups one after the other, each
 *
 *     scale [GEMM_NR] float, zero [GEMM_NR] i16 (float if ZERO_REAL) if ZERO,
 *     words [.][GEMM_NR] u32
 *
 * so that it is one stream. A word is PER integers of consecutive depth of one column, unsigned (a
 * signed one plus MIDDLE, its zero point likewise).
 *
 * An integer becomes a float without being moved to the low end of its lane: or-ed into the
 * mantissa of the power of two whose last places it has, less that power and the zero point in one
 * exact subtraction. The sums of a group are multiplied by its scale at the end.
 *
 * Macros of all bodies: M (at most, where M_VARIES: the rows are an argument) N K, BITS, SIGNED,
 * ZERO ZERO_REAL, GROUP GROUPS (of the panels), SOURCE_GROUP SOURCE_GROUPS (of the call: where they
 * are long, each is several), SCALE_T SCALE_OF ZERO_T ZERO_OF (elements of the call and what makes
 * floats of them), GEMM_MR GEMM_NV (the tile).
 */
#ifndef OPTUNE_KERNELS_NBITS_CPU_H
#define OPTUNE_KERNELS_NBITS_CPU_H

#include "kernels/common/epilogue_half.kernel.h"
#if WIDE
#define GEMM_FUSED epilogue_halves
#endif
#include "kernels/matmul/gemm.kernel.h"

#define PER (32 / BITS)
#define HALF (PER / 2)
#define MIDDLE (1 << (BITS - 1))
#define PANELS CEIL_DIV(N, GEMM_NR)
#define ROW_BYTES CEIL_DIV(K *BITS, 8)
#define LAST_GROUP (K - (GROUPS - 1) * GROUP)
#define ZERO_BYTES (ZERO ? ZERO_REAL ? 4 : 2 : 0)
#define HEAD_BYTES (GEMM_NR * (4 + ZERO_BYTES)) /* of a group, before its words */
#define WORDS(depth) CEIL_DIV(depth, PER)
#define GROUP_BYTES(depth) (HEAD_BYTES + GEMM_NR * 4 * WORDS(depth))
#define PANEL_BYTES ((GROUPS - 1) * GROUP_BYTES(GROUP) + GROUP_BYTES(LAST_GROUP))

typedef unsigned char byte;
typedef u32 words __attribute__((vector_size(VEC_BYTES)));
typedef u32 words_at __attribute__((vector_size(VEC_BYTES), aligned(1), may_alias));
typedef DTYPE vec_at __attribute__((vector_size(VEC_BYTES), aligned(1), may_alias));
typedef short shorts_at __attribute__((vector_size(VEC_BYTES / 2), aligned(1), may_alias));

/* Integer k of a row of the weight, unsigned. */
INLINE u32 integer_at(const byte *row, i64 k)
{
    const u32 q = BITS == 8 ? row[k] : k % 2 ? row[k / 2] >> 4 : row[k / 2] & 15;
    return SIGNED ? q ^ MIDDLE : q;
}

/* PER of them from k on, or as many as there are before `end`. */
INLINE u32 word_at(const byte *row, i64 k, i64 end)
{
    u32 word = 0;
    if (k * BITS % 8 == 0 && k + PER <= end) {
        const byte *from = row + k * BITS / 8;
        word = from[0] | (u32)from[1] << 8 | (u32)from[2] << 16 | (u32)from[3] << 24;
        return SIGNED ? word ^ (BITS == 8 ? 0x80808080u : 0x88888888u) : word;
    }
    for (i64 i = 0; i < PER && k + i < end; i++)
        word |= integer_at(row, k + i) << i * BITS;
    return word;
}

/* Lane l of a group: its scale, its zero point, and the words of depth [begin, end) of column n. A
 * column beyond N (`none`) has a scale of 0. */
INLINE void pack_lane(byte *to, i64 l, i64 begin, i64 end, const byte *row, float scale,
                      float zero, const int none)
{
    __builtin_memcpy(to + l * 4, &scale, 4);
#if ZERO_REAL
    __builtin_memcpy(to + GEMM_NR * 4 + l * 4, &zero, 4);
#elif ZERO
    const short z = (short)zero;
    __builtin_memcpy(to + GEMM_NR * 4 + l * 2, &z, 2);
#endif
    for (i64 k = begin; k < end; k += PER) {
        const u32 word = none ? 0 : word_at(row, k, end);
        __builtin_memcpy(to + HEAD_BYTES + ((k - begin) / PER * GEMM_NR + l) * 4, &word, 4);
    }
}

/* arg: weight [N][ROW_BYTES], scale, zero if ZERO, panels. Lanes with and without a column are
 * loops of their own: of a masked load gcc 12 may make a whole one. */
void pack_weight(void *const *arg)
{
    const byte *weight = arg[0];
    const SCALE_T *scale = arg[1];
    const ZERO_T *zero = ZERO ? arg[2] : 0;
    byte *packed = arg[2 + ZERO];
    PARALLEL_FOR
    for (i64 p = 0; p < PANELS; p++)
        for (i64 g = 0; g < GROUPS; g++) {
            byte *to = packed + p * PANEL_BYTES + g * GROUP_BYTES(GROUP);
            const i64 begin = g * GROUP, end = MIN(begin + GROUP, K);
            const i64 columns = MIN(GEMM_NR, N - p * GEMM_NR);
            for (i64 l = 0; l < columns; l++) {
                const i64 n = p * GEMM_NR + l, at = n * SOURCE_GROUPS + begin / SOURCE_GROUP;
                const float z = ZERO ? (float)ZERO_OF(zero[at]) + (SIGNED ? MIDDLE : 0) : 0;
                pack_lane(to, l, begin, end, weight + n * ROW_BYTES, (float)SCALE_OF(scale[at]),
                          z, 0);
            }
            for (i64 l = columns; l < GEMM_NR; l++)
                pack_lane(to, l, begin, end, weight, 0, MIDDLE, 1);
        }
}

/* 2 to the power of 23 - place: its float's last bit but `place` is 1. */
#define POWER_OF(place) ((float)(1 << (23 - (place))))
#define POWER_BITS(place) ((u32)(150 - (place)) << 23)
#define PLACE(i) ((i) % HALF * BITS)

/* What is subtracted at each place, for the columns of one vector. */
typedef struct zeros {
    vec at[HALF], more;
} zeros;

INLINE zeros zeros_of(const byte *group, int v)
{
    zeros z;
    z.more = splat(0);
#if ZERO && !ZERO_REAL
    const vec own =
        __builtin_convertvector(*(const shorts_at *)(group + GEMM_NR * 4 + v * VLEN * 2), vec);
#elif ZERO
    z.more = *(const vec_at *)(group + GEMM_NR * 4 + v * VLEN * 4);
#endif
    UNROLL(64)
    for (int i = 0; i < HALF; i++) {
#if ZERO && !ZERO_REAL
        z.at[i] = own + POWER_OF(i * BITS);
#else
        z.at[i] = splat(POWER_OF(i * BITS) + (ZERO ? 0 : MIDDLE));
#endif
    }
    return z;
}

INLINE vec scales_of(const byte *group, int v)
{
    return *(const vec_at *)(group + v * VLEN * 4);
}

INLINE words words_of(const byte *group, i64 w, int v)
{
    return *(const words_at *)(group + HEAD_BYTES + (w * GEMM_NR + v * VLEN) * 4);
}

/* Integer i of each word less its zero point; `high` is word >> 16. */
INLINE vec levels(words word, words high, const int i, const zeros *z)
{
    const words mask = (words){0} + ((u32)((1 << BITS) - 1) << PLACE(i));
    const words bits = ((i < HALF ? word : high) & mask) | ((words){0} + POWER_BITS(PLACE(i)));
    const vec level = (vec)bits - z->at[i % HALF];
    return ZERO_REAL ? level - z->more : level;
}

#if WIDE
/* arg: data, its floats, rows if M_VARIES */
void widen(void *const *arg)
{
    const unsigned short *from = arg[0];
    float *to = arg[1];
    const i64 rows = M_VARIES ? *(const i64 *)arg[2] : M;
    PARALLEL_FOR
    for (i64 m = 0; m < rows; m++)
        for (i64 k = 0; k < K; k++)
            to[m * K + k] = DATA_OF(from[m * K + k]);
}

/* arg: floats, output, rows if M_VARIES */
void narrow(void *const *arg)
{
    const float *from = arg[0];
    unsigned short *to = arg[1];
    const i64 rows = M_VARIES ? *(const i64 *)arg[2] : M;
    PARALLEL_FOR
    for (i64 m = 0; m < rows; m++)
        for (i64 n = 0; n < N; n++)
            to[m * N + n] = DATA_TO(from[m * N + n]);
}
#endif

#endif
