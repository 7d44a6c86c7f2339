/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans along an axis with others behind it: neighbouring lines are lanes of one vector. Macros
 * beside kernels/scan/body.kernel.h: VECTORS (vectors of lines whose carries stay in
 * registers), ROWS (steps along the axis unrolled).
 */
#include "kernels/scan/body.kernel.h"

/* `n` whole vectors of lines from the axis' beginning to its end. */
INLINE void columns(const IN *in, DTYPE *out, const int n)
{
    vec carry[VECTORS];
    UNROLL(16)
    for (int k = 0; k < n; k++)
        carry[k] = splat(NEUTRAL);
    UNROLL(ROWS)
    for (i64 i = 0; i < N; i++) {
        UNROLL(16)
        for (int k = 0; k < n; k++) {
            const vec next = OP(carry[k], load_in(in + i * INNER + k * VLEN));
            put(out + i * INNER + k * VLEN, EXCLUSIVE ? carry[k] : next);
            carry[k] = next;
        }
    }
}

INLINE void narrow(const IN *in, DTYPE *out, i64 width)
{
    DTYPE carry[2 * VLEN];
    for (i64 c = 0; c < width; c++)
        carry[c] = NEUTRAL;
    for (i64 i = 0; i < N; i++)
        for (i64 c = 0; c < width; c++)
            carry[c] = one(in + i * INNER + c, out + i * INNER + c, carry[c]);
}

#define WIDTH ((i64)VECTORS * VLEN)

/* arg: data, out */
void scan(void *const *arg)
{
    const IN *in = arg[0];
    DTYPE *out = arg[1];
    /* Rows all begin alike: the plan streams only where INNER is whole vectors. */
    const i64 skip = put_skip(out, INNER);
    const i64 wide = (INNER - skip) / WIDTH;
    PARALLEL_FOR_N(2)
    for (i64 o = 0; o < OUTER; o++)
        for (i64 w = 0; w <= wide; w++) {
            const IN *from = in + o * N * INNER;
            DTYPE *to = out + o * N * INNER;
            i64 c = skip + w * WIDTH;
            if (w < wide) {
                columns(from + c, to + c, VECTORS);
            } else {
                for (; c + VLEN <= INNER; c += VLEN)
                    columns(from + c, to + c, 1);
                if (c < INNER)
                    narrow(from + c, to + c, INNER - c);
                if (skip)
                    narrow(from, to, skip);
            }
            put_end();
        }
}
