/* SPDX-License-Identifier: Apache-2.0 */
/* attention, generic: an item is a query and some columns of its output, in one pass over the keys
 * whose sums shrink whenever the largest score rises. */
#include "kernels/common/generic_scalar.kernel.h"

#define COLUMNS 32

INLINE i64 items(const generic_call *c)
{
    DIMS(o, O0);
    return o[0] * o[1] * o[2] * CEIL_DIV(o[3], COLUMNS);
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    DIMS(q, X0);
    DIMS(k, X1);
    DIMS(o, O0);
#if INPUTS > 3
    DIMS(m, X3);
#endif
    const i64 parts = CEIL_DIV(o[3], COLUMNS);
    for (; first < last; first++) {
        const i64 part = first % parts * COLUMNS, row = first / parts;
        const i64 i = row % q[2], h = row / q[2] % q[1], b = row / q[2] / q[1];
        const i64 head = b * k[1] + h / (q[1] / k[1]), n = MIN(o[3] - part, (i64)COLUMNS);
        const i64 end = CAUSAL ? MIN(k[2], i + k[2] - q[2] + 1) : k[2];
        SCALAR acc[COLUMNS], most = s_lowest, sum = 0;
        for (int l = 0; l < COLUMNS; l++)
            acc[l] = 0;
        for (i64 j = 0; j < end; j++) {
            SCALAR score = 0;
            for (i64 d = 0; d < q[3]; d++)
                score += (SCALAR)READ(0, row * q[3] + d) *
                         (SCALAR)READ(1, (head * k[2] + j) * q[3] + d);
            score *= SCALE;
#if INPUTS > 3
            const i64 at = (((m[0] > 1 ? b : 0) * m[1] + (m[1] > 1 ? h : 0)) * m[2] +
                            (m[2] > 1 ? i : 0)) *
                               m[3] +
                           (m[3] > 1 ? j : 0);
            const SCALAR more = (SCALAR)READ(3, at);
            if (MASK_KEEPS ? more == 0 : more == s_lowest)
                continue;
            score += MASK_KEEPS ? (SCALAR)0 : more;
#endif
            if (score == s_lowest)
                continue;
            const SCALAR higher = s_max(most, score);
            const SCALAR less = most == s_lowest ? (SCALAR)0 : s_exp(most - higher);
            const SCALAR p = s_exp(score - higher);
            most = higher;
            sum = sum * less + p;
            for (i64 l = 0; l < n; l++)
                acc[l] = acc[l] * less +
                         p * (SCALAR)READ(2, (head * k[2] + j) * o[3] + part + l);
        }
        for (i64 l = 0; l < n; l++)
            WRITE(0, row * o[3] + part + l, ZEROS && sum == 0 ? (SCALAR)0 : acc[l] / sum);
    }
}

GENERIC_ENTRY
