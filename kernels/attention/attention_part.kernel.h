/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few rows (ROWS, MOST_ROWS at most) of a head over some of its keys, KB at a time. Keys and
 * values are read once, where they are: the vectors of scores run along D. Without MOST_ROWS there
 * is no such part.
 */
#ifndef OPTUNE_KERNELS_ATTENTION_PART_H
#define OPTUNE_KERNELS_ATTENTION_PART_H

#include "kernels/attention/attention_cpu.kernel.h"

#define WHOLE (D / VLEN)
#define TAIL (D % VLEN)
#define DP (CEIL_DIV(D, VLEN) * VLEN)
#define DVP (CEIL_DIV(DV, VLEN) * VLEN)
#define LEFT                                                                                   \
    (DVP + 2) /* what a part leaves of a row: its sums, the largest, the weights' sum */

#ifdef MOST_ROWS
/* A row of k or v as DTYPE: itself, or in `room`. */
INLINE const DTYPE *row_of(const void *from, i64 at, const int n, DTYPE *room)
{
#if NARROW
    widen(room, (const IN_T *)from + at, n, 1);
    return room;
#else
    return (const DTYPE *)from + at;
#endif
}

/* What keys [first, last) of a head leave of its rows. */
static void part(i64 head, i64 first, i64 last, const IN_T *queries, const void *keys,
                 const void *values, const void *mask, DTYPE *left SIZES)
{
    DTYPE q[MOST_ROWS][DP] __attribute__((aligned(64)));
    DTYPE score[MOST_ROWS][KB] __attribute__((aligned(64)));
    DTYPE room[MAX(DP, DVP)] __attribute__((aligned(64)));
    i64 end = first;
    for (i64 r = 0; r < ROWS; r++) {
        widen(q[r], queries + (head * ROWS + r) * D, D, SCALE);
        for (i64 d = D; d < DP; d++)
            q[r][d] = 0;
        for (i64 c = 0; c < DVP; c++)
            left[r * LEFT + c] = 0;
        left[r * LEFT + DVP] = SMALLEST;
        left[r * LEFT + DVP + 1] = 0;
        end = MAX(end, MIN(last, keys_of(r SIZE)));
    }
    for (i64 key = first; key < end; key += KB) {
        const i64 n = MIN((i64)KB, end - key);
        for (i64 j = 0; j < n; j++) {
            const DTYPE *k = row_of(keys, (head * SKV + key + j) * D, D, room);
            for (i64 r = 0; r < ROWS; r++) {
                vec sum = TAIL ? vec_get(k + WHOLE * VLEN, TAIL, 0) * load(q[r] + DP - VLEN)
                               : (vec){0};
                UNROLL(8)
                for (int d = 0; d < WHOLE; d++)
                    sum += load(k + d * VLEN) * load(q[r] + d * VLEN);
                score[r][j] = vec_sum(sum);
            }
        }
        for (i64 r = 0; r < ROWS; r++) {
            DTYPE *l = left + r * LEFT;
            mask_row(score[r], head, r, key, n, KB, mask SIZE);
            const DTYPE less = weigh(score[r], KB / VLEN, l + DVP, l + DVP + 1);
            for (int c = 0; c < DVP; c += VLEN)
                store(l + c, load(l + c) * splat(less));
        }
        for (i64 j = 0; j < n; j++) {
            const DTYPE *v = row_of(values, (head * SKV + key + j) * DV, DV, room);
            for (i64 r = 0; r < ROWS; r++) {
                DTYPE *l = left + r * LEFT;
                const vec p = splat(score[r][j]);
                UNROLL(8)
                for (int c = 0; c < DV / VLEN; c++)
                    store(l + c * VLEN, load(l + c * VLEN) + p * load(v + c * VLEN));
                if (DV % VLEN)
                    store(l + DVP - VLEN, load(l + DVP - VLEN) +
                                              p * vec_get(v + DV / VLEN * VLEN, DV % VLEN, 0));
            }
        }
    }
}
#endif

#endif
