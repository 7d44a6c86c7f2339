/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans along a contiguous axis in registers. Macros beside kernels/scan/body.kernel.h: VECTORS
 * (vectors in one step), AHEAD (bytes to prefetch ahead; 0: no), CHUNK (elements of a piece of
 * a row that one thread takes; 0: threads take whole rows).
 *
 * A vector is scanned by log2(VLEN) shifted additions, independent of what is before it; the
 * carry then costs one addition a vector, which is all that waits for the vector before. With
 * CHUNK, threads first reduce their pieces of a block, then scan them from the caches.
 */
#include "kernels/scan/body.kernel.h"

#define STEP ((i64)VECTORS * VLEN)

typedef __typeof__((vec){0} == (vec){0}) lanes; /* integers as wide as DTYPE */

/* Lanes move up by s; neutral elements come in. */
INLINE vec up(vec v, const int s)
{
    lanes from;
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        from[i] = i >= s ? i - s : VLEN + i;
    return __builtin_shuffle(v, splat(NEUTRAL), from);
}

INLINE vec last(vec v)
{
    lanes from;
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        from[i] = VLEN - 1;
    return __builtin_shuffle(v, from);
}

/* [0, n) after `carry`; returns the carry behind it. */
INLINE DTYPE run(const IN *in, DTYPE *out, i64 n, DTYPE carry)
{
    i64 i = 0;
    for (const i64 skip = put_skip(out, n); i < skip; i++)
        carry = one(in + i, out + i, carry);
    vec before = splat(carry);
    for (; i + STEP <= n; i += STEP) {
        vec v[VECTORS];
        UNROLL(16)
        for (int k = 0; k < VECTORS; k++) {
            if (AHEAD && k * sizeof(IN) * VLEN % 64 == 0)
                __builtin_prefetch((const char *)(in + i + k * VLEN) + AHEAD, 0, 3);
            v[k] = load_in(in + i + k * VLEN);
            UNROLL(8)
            for (int s = 1; s < VLEN; s *= 2)
                v[k] = OP(v[k], up(v[k], s));
        }
        UNROLL(16)
        for (int k = 0; k < VECTORS; k++) {
            put(out + i + k * VLEN, OP(before, EXCLUSIVE ? up(v[k], 1) : v[k]));
            before = OP(before, last(v[k]));
        }
    }
    carry = before[0];
    for (; i < n; i++)
        carry = one(in + i, out + i, carry);
    return carry;
}

#if CHUNK
INLINE DTYPE reduce(const IN *in, i64 n)
{
    vec sum[4];
    UNROLL(4)
    for (int k = 0; k < 4; k++)
        sum[k] = splat(NEUTRAL);
    i64 i = 0;
    for (; i + 4 * VLEN <= n; i += 4 * VLEN) {
        UNROLL(4)
        for (int k = 0; k < 4; k++)
            sum[k] = OP(sum[k], load_in(in + i + k * VLEN));
    }
    const vec all = OP(OP(sum[0], sum[1]), OP(sum[2], sum[3]));
    DTYPE total = NEUTRAL;
    for (int k = 0; k < VLEN; k++)
        total = OP(total, all[k]);
    for (; i < n; i++)
        total = OP(total, (DTYPE)in[i]);
    return total;
}

/* arg: data, out */
void scan(void *const *arg)
{
    const IN *in = arg[0];
    DTYPE *out = arg[1], part[OT_THREADS];
    for (i64 r = 0; r < OUTER; r++) {
        DTYPE carry = NEUTRAL;
        for (i64 at = r * N; at < (r + 1) * N; at += CHUNK * OT_THREADS) {
            const i64 end = MIN(at + CHUNK * OT_THREADS, (r + 1) * N);
            PARALLEL_FOR
            for (int t = 0; t < OT_THREADS; t++) {
                const i64 from = MIN(at + t * CHUNK, end);
                part[t] = reduce(in + from, MIN(CHUNK, end - from));
            }
            for (int t = 0; t < OT_THREADS; t++) {
                const DTYPE own = part[t];
                part[t] = carry;
                carry = OP(carry, own);
            }
            PARALLEL_FOR
            for (int t = 0; t < OT_THREADS; t++) {
                const i64 from = MIN(at + t * CHUNK, end);
                run(in + from, out + from, MIN(CHUNK, end - from), part[t]);
                put_end();
            }
        }
    }
}
#else
/* arg: data, out */
void scan(void *const *arg)
{
    const IN *in = arg[0];
    DTYPE *out = arg[1];
    PARALLEL_FOR
    for (i64 r = 0; r < OUTER; r++) {
        run(in + r * N, out + r * N, N, NEUTRAL);
        put_end();
    }
}
#endif
