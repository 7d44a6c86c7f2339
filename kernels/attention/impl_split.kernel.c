/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_split.cpu. Macros beside attention_define's: SPLITS parts of the keys, KB keys at a
 * time.
 */
#define MOST_ROWS ROWS
#include "kernels/attention/attention_part.kernel.h"

#define PART CEIL_DIV((i64)SKV, SPLITS)

/* arg: q, k, v, what is left, mask */
void parts(void *const *arg)
{
    PARALLEL_FOR
    for (i64 t = 0; t < HEADS * SPLITS; t++) {
        const i64 first = t % SPLITS * PART;
        part(t / SPLITS, first, MIN(first + PART, (i64)SKV), arg[0], arg[1], arg[2],
             MASKED ? arg[MASKED ? 4 : 0] : 0, (DTYPE *)arg[3] + t * (ROWS * LEFT));
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
