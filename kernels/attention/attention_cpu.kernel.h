/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CPU bodies of attention share: elements as DTYPE, who sees whom, and a step of the online
 * softmax (Milakov and Gimelshein, 2018; Dao et al., FlashAttention, 2022). Macros:
 * attention_define.
 */
#ifndef OPTUNE_KERNELS_ATTENTION_CPU_H
#define OPTUNE_KERNELS_ATTENTION_CPU_H

#include "kernels/common/exp.kernel.h"
#include "kernels/common/half.kernel.h"

#define SMALLEST ((DTYPE)(sizeof(DTYPE) == 8 ? -__DBL_MAX__ : -__FLT_MAX__))
#define NOTHING ((DTYPE)-__builtin_inff())

/* Of a shape that varies, functions that need what does are handed it behind all else. */
#if VARIES
typedef struct sizes {
    i64 heads, rows, sq, skv;
} sizes;

/* arg: the dims known at run time */
INLINE sizes sizes_of(void *const *arg)
{
    return (sizes){BATCH * HKV, GROUP * QUERIES, QUERIES, KEYS};
}

#define SIZES , const sizes *z
#define SIZE , z
#else
#define SIZES
#define SIZE
#endif

/* n elements, as they are stored, times `scale`; n constant or not. */
INLINE void widen(DTYPE *to, const IN_T *from, i64 n, DTYPE scale)
{
    for (i64 i = 0; i < n; i++)
        to[i] = IN_OF(from[i]) * scale;
}

/* How many keys row r of a head sees from the front. */
INLINE i64 keys_of(i64 r SIZES)
{
    const i64 end = CAUSAL ? r % SQ + SKV - SQ + 1 : SKV;
    return end < 0 ? 0 : end;
}

/* Scores [0, n) of row r of `head` with the keys from `key` on: those that it does not see become
 * -infinity, up to `room`. */
INLINE void mask_row(DTYPE *score, i64 head, i64 r, i64 key, i64 n, i64 room,
                     const void *mask SIZES)
{
    n = MIN(n, keys_of(r SIZE) - key);
#if MASKED
    const MASK_T *m = (const MASK_T *)mask + head / HKV * MASK_B +
                      (head % HKV * GROUP + r / SQ) * MASK_H + r % SQ * MASK_Q + key * MASK_K;
    for (i64 j = 0; j < n; j++) {
        if (MASK_KEEPS)
            score[j] = m[j * MASK_K] ? score[j] : NOTHING;
        else {
            const DTYPE more = MASK_OF(m[j * MASK_K]);
            score[j] = more == NOTHING ? NOTHING : score[j] + more;
        }
    }
#endif
    for (i64 j = MAX(n, 0); j < room; j++)
        score[j] = NOTHING;
}

/* `vectors` vectors of scores become weights against the largest so far, which they may raise.
 * Adds them to *sum and returns what earlier sums shrink by. A row that sees nothing keeps the
 * smallest number as its largest, so that its weights are 0; a NaN is passed over by the
 * maximum and stays one as a weight. */
INLINE DTYPE weigh(DTYPE *score, i64 vectors, DTYPE *most, DTYPE *sum)
{
    vec higher[2] = {splat(*most), splat(*most)}, more[2] = {{0}, {0}};
    for (i64 v = 0; v + 1 < vectors; v += 2) {
        higher[0] = vec_max(load(score + v * VLEN), higher[0]);
        higher[1] = vec_max(load(score + (v + 1) * VLEN), higher[1]);
    }
    if (vectors % 2)
        higher[0] = vec_max(load(score + (vectors - 1) * VLEN), higher[0]);
    const DTYPE largest = vec_largest(vec_max(higher[0], higher[1]));
    for (i64 v = 0; v < vectors; v++) {
        const vec e = vec_exp(load(score + v * VLEN) - splat(largest));
        store(score + v * VLEN, e);
        more[v % 2] += e;
    }
    /* Nothing shrinks to nothing: there is no exponential in front of the first keys. */
    const DTYPE less = *sum == 0 ? 1 : vec_exp(splat(*most - largest))[0];
    *sum = *sum * less + vec_sum(more[0] + more[1]);
    *most = largest;
    return less;
}

#endif
