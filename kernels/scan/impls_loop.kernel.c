/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans one element at a time. Macros beside kernels/scan/body.kernel.h: LINES (neighbouring
 * lines walked together, so that their additions do not wait for each other).
 */
#include "kernels/scan/body.kernel.h"

/* Line l of all OUTER * INNER begins here. */
#define BEGIN(l) ((l) / INNER * N * INNER + (l) % INNER)

INLINE void lines(const IN *in, DTYPE *out, i64 l, const int n)
{
    DTYPE carry[LINES];
    i64 at[LINES];
    UNROLL(16)
    for (int k = 0; k < n; k++) {
        carry[k] = NEUTRAL;
        at[k] = BEGIN(l + k);
    }
    for (i64 i = 0; i < N; i++) {
        UNROLL(16)
        for (int k = 0; k < n; k++)
            carry[k] = one(in + at[k] + i * INNER, out + at[k] + i * INNER, carry[k]);
    }
}

/* arg: data, out */
void scan(void *const *arg)
{
    const IN *in = arg[0];
    DTYPE *out = arg[1];
    const i64 all = (i64)OUTER * INNER;
    PARALLEL_FOR
    for (i64 l = 0; l < all / LINES; l++)
        lines(in, out, l * LINES, LINES);
    for (i64 l = all / LINES * LINES; l < all; l++)
        lines(in, out, l, 1);
}
