/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU bodies of attention share: scores as the softmax takes them, who sees whom, and how far
 * keys go for some rows. Macros: attention_define's.
 *
 * Scores of what is left out are -infinity. Where queries are scaled first, by SCALE_OF, scores are
 * logarithms to the base 2 unless something is added to them, and WEIGHT(less) is what one `less`
 * below the largest weighs. Else a score is EARLY(the product), and weighs WEIGHT_OF(score, the
 * row's largest): one exponential of a multiply-add, if EARLY leaves the scale to that. It is wrong
 * by what the largest times FACTOR is rounded by, which all weights of a row share, but which is
 * infinite for scores of 2^30: float32 is scaled early, and what masks add, the lowest float where
 * a row has nothing else, is subtracted as it is.
 */
#ifndef OPTUNE_KERNELS_ATTENTION_GPU_H
#define OPTUNE_KERNELS_ATTENTION_GPU_H

#include "kernels/common/gpu.kernel.h"

#ifdef OT_OPENCL
#define EXP2(x) exp2(x)
#define NOTHING (-INFINITY)
#define LARGER(a, b) fmax(a, b) /* passes over a NaN, which stays one as a weight */
#else
/* Two units in the last place. */
INLINE float EXP2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#define NOTHING (-__int_as_float(0x7F800000))
#define LARGER(a, b) fmaxf(a, b)
#endif
#define SMALLEST (-3.402823466e38f)
#define LOG2_E 1.4426950408889634f

#if MASKED && !MASK_KEEPS
#define SCALE_OF SCALE
#define WEIGHT(less) EXP2((less)*LOG2_E)
#define FACTOR LOG2_E
#define EARLY(x) ((x)*SCALE)
#define WEIGHT_OF(score, most) WEIGHT((score) - (most))
#define START SMALLEST
#else
#define SCALE_OF (SCALE * LOG2_E)
#define WEIGHT(less) EXP2(less)
#define EARLY_ALL (SCALE <= 0 || !NARROW)
#define FACTOR (EARLY_ALL ? 1.0f : SCALE_OF)
#define EARLY(x) (EARLY_ALL ? (x)*SCALE_OF : (x))
#define WEIGHT_OF(score, most) EXP2(FMA(score, FACTOR, -((most)*FACTOR)))
/* Below every score, and a number when multiplied, too, however that rounds. */
#define START (FACTOR > 1 ? SMALLEST / (2 * FACTOR) : SMALLEST)
#endif
/* Of a tile of TK keys, but for what a mask hides. */
#define ALL_SEEN (!CAUSAL && SKV % TK == 0)

/* How many keys row r of a head sees from the front, at most SKV. */
INLINE int keys_of(int r)
{
    const int end = CAUSAL ? r % SQ + (SKV - SQ + 1) : SKV;
    return end < 0 ? 0 : end;
}

/* How many keys one of the rows [first, first + n) of a head sees. */
INLINE int keys_of_rows(int first, int n)
{
    const int last = MIN(first + n, ROWS) - 1;
    return !CAUSAL || last < first ? SKV : first / SQ == last / SQ ? keys_of(last) : SKV;
}

/* How many keys all of the rows [first, first + n) see. */
INLINE int keys_of_all(int first, int n)
{
    const int last = MIN(first + n, ROWS) - 1;
    return !CAUSAL ? SKV : first / SQ == last / SQ ? keys_of(first) : keys_of(0);
}

#if MASKED
#define MASK_PARAMETER , GLOBAL const MASK_T *RESTRICT mask
#define MASK_ARGUMENT , mask

/* Where the mask of row r begins. */
INLINE i64 mask_row(int head, int r)
{
    return (i64)(head / HKV) * MASK_B + (i64)(head % HKV * GROUP + r / SQ) * MASK_H +
           (i64)(r % SQ) * MASK_Q;
}

#define MASKED_SCORE(score, row, key) masked_score(score, mask[(row) + (i64)(key)*MASK_K])
INLINE float masked_score(float score, MASK_T m)
{
#if MASK_KEEPS
    return m ? score : NOTHING;
#else
    const float more = MASK_OF(m);
    return more == NOTHING ? NOTHING : score + more;
#endif
}
#else
#define MASK_PARAMETER
#define MASK_ARGUMENT
#define mask_row(head, r) 0
#define MASKED_SCORE(score, row, key) ((void)(row), (score))
#endif

#endif
