/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_split.cpu. Macros beside attention_define's: SPLITS parts of the keys, KB keys at a
 * time. Keys and values are read once, where they are: the vectors of scores run along D.
 */
#include "kernels/attention/attention_cpu.kernel.h"

#define PART CEIL_DIV((i64)SKV, SPLITS)
#define WHOLE (D / VLEN)
#define TAIL (D % VLEN)
#define DP (CEIL_DIV(D, VLEN) * VLEN)
#define DVP (CEIL_DIV(DV, VLEN) * VLEN)
#define LEFT (DVP + 2) /* what a part leaves of a row: its sums, the largest, the weights' sum */

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

static void part(i64 head, i64 first, i64 last, void *const *arg, DTYPE *left)
{
    DTYPE q[ROWS][DP] __attribute__((aligned(64))), score[ROWS][KB] __attribute__((aligned(64)));
    DTYPE room[MAX(DP, DVP)] __attribute__((aligned(64)));
    i64 end = first;
    for (i64 r = 0; r < ROWS; r++) {
        widen(q[r], (const IN_T *)arg[0] + (head * ROWS + r) * D, D, SCALE);
        for (i64 d = D; d < DP; d++)
            q[r][d] = 0;
        for (i64 c = 0; c < DVP; c++)
            left[r * LEFT + c] = 0;
        left[r * LEFT + DVP] = SMALLEST;
        left[r * LEFT + DVP + 1] = 0;
        end = MAX(end, MIN(last, keys_of(r)));
    }
    for (i64 key = first; key < end; key += KB) {
        const i64 n = MIN((i64)KB, end - key);
        for (i64 j = 0; j < n; j++) {
            const DTYPE *k = row_of(arg[1], (head * SKV + key + j) * D, D, room);
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
            mask_row(score[r], head, r, key, n, KB, MASKED ? arg[MASKED ? 4 : 0] : 0);
            const DTYPE less = weigh(score[r], KB / VLEN, l + DVP, l + DVP + 1);
            for (int c = 0; c < DVP; c += VLEN)
                store(l + c, load(l + c) * splat(less));
        }
        for (i64 j = 0; j < n; j++) {
            const DTYPE *v = row_of(arg[2], (head * SKV + key + j) * DV, DV, room);
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

/* arg: q, k, v, what is left, mask */
void parts(void *const *arg)
{
    PARALLEL_FOR
    for (i64 t = 0; t < HEADS * SPLITS; t++) {
        const i64 first = t % SPLITS * PART;
        part(t / SPLITS, first, MIN(first + PART, (i64)SKV), arg,
             (DTYPE *)arg[3] + t * (ROWS * LEFT));
    }
}

/* arg: what is left, out */
void merge(void *const *arg)
{
    for (i64 head = 0; head < HEADS; head++)
        for (i64 r = 0; r < ROWS; r++) {
            const DTYPE *left = (const DTYPE *)arg[0] + (head * SPLITS * ROWS + r) * LEFT;
            IN_T *to = (IN_T *)arg[1] + (head * ROWS + r) * DV;
            DTYPE most = SMALLEST, sum = 0, share[SPLITS];
            for (i64 s = 0; s < SPLITS; s++) {
                const DTYPE m = left[s * (ROWS * LEFT) + DVP];
                most = m > most || m != m ? m : most;
            }
            for (i64 s = 0; s < SPLITS; s++) {
                share[s] = vec_exp(splat(left[s * (ROWS * LEFT) + DVP] - most))[0];
                sum += share[s] * left[s * (ROWS * LEFT) + DVP + 1];
            }
            for (i64 c = 0; c < DV; c++) {
                DTYPE all = 0;
                for (i64 s = 0; s < SPLITS; s++)
                    all += share[s] * left[s * (ROWS * LEFT) + c];
                to[c] = OUT_TO(ZEROS && sum == 0 ? 0 : all / sum);
            }
        }
}
