/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_columns.cpu. Macros from the plan: [OUTER, AXIS, INNER], PASSES (2: maximum and sum
 * together, exponentials twice; 3: exponentials kept in the output), VECS vectors side by side,
 * STEPS of the axis unrolled. Lanes are independent, so nothing is ever reduced across them.
 */
#define STORED_TENSORS
#include "kernels/common/exp.kernel.h"
#include "kernels/common/stored.kernel.h"

#define WIDE (VECS * VLEN)
#define BLOCKS CEIL_DIV(INNER, WIDE)
#define SMALLEST ((DTYPE)(sizeof(DTYPE) == 8 ? -__DBL_MAX__ : -__FLT_MAX__))
#define NOTHING ((DTYPE)-__builtin_inff())
#define AGAIN (PASSES == 2 || STORED_HALF) /* exponentials that memory would round */
#define EACH(i) UNROLL(8) for (int i = 0; i < VECS; i++)
#define HAS(i) MAX(0, MIN(VLEN, cols - (i)*VLEN))

INLINE void column(const stored *from, stored *to, const int cols)
{
    vec most[VECS], sum[VECS];
    EACH(i)
    {
        most[i] = splat(PASSES == 2 ? SMALLEST : NOTHING);
        sum[i] = (vec){0};
    }
    UNROLL(STEPS)
    for (i64 k = 0; k < AXIS; k++)
        EACH(i)
        {
            const vec x = stored_get(from + k * INNER + i * VLEN, HAS(i), 0);
            const vec higher = vec_max(x, most[i]);
            if (PASSES == 2)
                sum[i] = sum[i] * vec_exp(most[i] - higher) + vec_exp(x - higher);
            most[i] = higher;
        }
    if (PASSES == 3) {
        UNROLL(STEPS)
        for (i64 k = 0; k < AXIS; k++)
            EACH(i)
            {
                const i64 at = k * INNER + i * VLEN;
                const vec e = vec_exp(stored_get(from + at, HAS(i), 0) - most[i]);
                if (!AGAIN)
                    stored_put(to + at, e, HAS(i));
                sum[i] += e;
            }
    }
    EACH(i)
    sum[i] = 1 / sum[i];
    UNROLL(STEPS)
    for (i64 k = 0; k < AXIS; k++)
        EACH(i)
        {
            const i64 at = k * INNER + i * VLEN;
            const vec e = AGAIN ? vec_exp(stored_get(from + at, HAS(i), 0) - most[i])
                                : stored_get(to + at, HAS(i), 0);
            stored_put(to + at, e * sum[i], HAS(i));
        }
}

/* arg: data, out */
void softmax(void *const *arg)
{
    const stored *data = arg[0];
    stored *out = arg[1];
    PARALLEL_FOR_N(2)
    for (i64 o = 0; o < OUTER; o++)
        for (i64 b = 0; b < BLOCKS; b++) {
            const i64 at = o * AXIS * INNER + b * WIDE;
            if (INNER % WIDE == 0 || b + 1 < BLOCKS)
                column(data + at, out + at, WIDE);
            else
                column(data + at, out + at, INNER % WIDE);
        }
}
