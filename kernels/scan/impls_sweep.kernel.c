/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans along an axis with others behind it, row by row: the carries of WIDTH lines stay in the
 * first cache and memory is read and written in its own order. Macros beside
 * kernels/scan/body.kernel.h: WIDTH (lines of one task), AHEAD (bytes to prefetch ahead; 0:
 * no).
 */
#include "kernels/scan/body.kernel.h"

#define TASKS CEIL_DIV((i64)INNER, WIDTH)
#define CARRIES (CEIL_DIV((i64)WIDTH, VLEN) * VLEN + VLEN) /* between those of two threads */

INLINE void row(const IN *in, DTYPE *out, DTYPE *carry, i64 n)
{
    i64 c = 0;
    for (const i64 skip = put_skip(out, n); c < skip; c++)
        carry[c] = one(in + c, out + c, carry[c]);
    for (; c + VLEN <= n; c += VLEN) {
        if (AHEAD)
            __builtin_prefetch((const char *)(in + c) + AHEAD, 0, 3);
        const vec before = load(carry + c), next = OP(before, load_in(in + c));
        put(out + c, EXCLUSIVE ? before : next);
        store(carry + c, next);
    }
    for (; c < n; c++)
        carry[c] = one(in + c, out + c, carry[c]);
}

/* arg: data, out, carries of every thread */
void scan(void *const *arg)
{
    const IN *in = arg[0];
    DTYPE *out = arg[1];
    PARALLEL_FOR_N(2)
    for (i64 o = 0; o < OUTER; o++)
        for (i64 w = 0; w < TASKS; w++) {
            DTYPE *carry = (DTYPE *)arg[2] + THREAD * CARRIES;
            const i64 n = MIN(WIDTH, INNER - w * WIDTH);
            for (i64 c = 0; c < n; c++)
                carry[c] = NEUTRAL;
            for (i64 i = 0; i < N; i++) {
                const i64 at = (o * N + i) * INNER + w * WIDTH;
                row(in + at, out + at, carry, n);
            }
            put_end();
        }
}
