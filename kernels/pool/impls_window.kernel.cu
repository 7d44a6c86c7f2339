/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU schedule of pooling: a thread walks whole windows. POOL_MEAN: of what they count,
 * else the most. */
#include "kernels/pool/body_gpu.kernel.h"

#if POOL_MEAN
#define START ((DTYPE)0)
#define FOLD(acc, v) ((acc) + (v))
#else
#define START s_lowest
#define FOLD(acc, v) s_max(v, acc)
#endif

KERNEL(THREADS, 1, 1)
pool(GLOBAL const DTYPE *RESTRICT data, GLOBAL DTYPE *RESTRICT out)
{
    FOR_EACH(OH, OW)
    const int top = y * SH - PT, left = x * SW - PL;
    GLOBAL const DTYPE *const from = data + plane * ((INDEX)H * W * BLOCK) + c;
    DTYPE acc = START;
    UNROLL_BY(UNROLL_Y)
    for (int i = 0; i < KH; i++) {
        UNROLL_BY(UNROLL_X)
        for (int j = 0; j < KW; j++) {
            const int at_y = top + i * DH, at_x = left + j * DW;
            if (inside(at_y, H) && inside(at_x, W)) {
                const DTYPE v = from[((INDEX)at_y * W + at_x) * BLOCK];
                acc = FOLD(acc, v);
            }
        }
    }
#if POOL_MEAN
    const DTYPE n = UNIFORM ? (DTYPE)(KH * KW) : counts(y, x);
    acc = n > 0 ? acc / n : (DTYPE)0;
#endif
    out[o] = acc;
    END_EACH
}
