/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of pooling on GPUs. Of a mean (POOL_MEAN, from the plan) `gather` adds up a share
 * of each window that holds the element. Of a maximum `choose` notes the tap that each window
 * takes it from, the first in row-major order, -1 for none; `gather` adds the gradients of the
 * windows that chose the element.
 */
#include "kernels/pool/body_gpu.kernel.h"

#if POOL_MEAN

KERNEL(THREADS, 1, 1)
gather(GLOBAL const DTYPE *RESTRICT grad, GLOBAL DTYPE *RESTRICT out)
{
    FOR_EACH(H, W)
    GLOBAL const DTYPE *const from = grad + plane * ((INDEX)OH * OW * BLOCK) + c;
    DTYPE sum = 0;
    UNROLL_BY(UNROLL_Y)
    for (int i = 0; i < KH; i++) {
        const int oy = window_of(y + PT - i * DH, SH, OH);
        UNROLL_BY(UNROLL_X)
        for (int j = 0; j < KW; j++) {
            const int ox = window_of(x + PL - j * DW, SW, OW);
            if (oy >= 0 && ox >= 0)
                sum += from[((INDEX)oy * OW + ox) * BLOCK] /
                       (UNIFORM ? (DTYPE)(KH * KW) : counts(oy, ox));
        }
    }
    out[o] = sum;
    END_EACH
}

#else

KERNEL(THREADS, 1, 1)
choose(GLOBAL const DTYPE *RESTRICT data, GLOBAL int *RESTRICT chosen)
{
    FOR_EACH(OH, OW)
    const int top = y * SH - PT, left = x * SW - PL;
    GLOBAL const DTYPE *const from = data + plane * ((INDEX)H * W * BLOCK) + c;
    DTYPE best = 0;
    int which = -1;
    UNROLL_BY(UNROLL_Y)
    for (int i = 0; i < KH; i++) {
        UNROLL_BY(UNROLL_X)
        for (int j = 0; j < KW; j++) {
            const int at_y = top + i * DH, at_x = left + j * DW;
            if (inside(at_y, H) && inside(at_x, W)) {
                const DTYPE v = from[((INDEX)at_y * W + at_x) * BLOCK];
                if (which < 0 || (best == best && !(v <= best))) {
                    best = v;
                    which = i * KW + j;
                }
            }
        }
    }
    chosen[o] = which;
    END_EACH
}

KERNEL(THREADS, 1, 1)
gather(GLOBAL const DTYPE *RESTRICT grad, GLOBAL const int *RESTRICT chosen,
       GLOBAL DTYPE *RESTRICT out)
{
    FOR_EACH(H, W)
    const INDEX base = plane * ((INDEX)OH * OW * BLOCK) + c;
    DTYPE sum = 0;
    UNROLL_BY(UNROLL_Y)
    for (int i = 0; i < KH; i++) {
        const int oy = window_of(y + PT - i * DH, SH, OH);
        UNROLL_BY(UNROLL_X)
        for (int j = 0; j < KW; j++) {
            const int ox = window_of(x + PL - j * DW, SW, OW);
            if (oy >= 0 && ox >= 0) {
                const INDEX window = base + ((INDEX)oy * OW + ox) * BLOCK;
                if (chosen[window] == i * KW + j)
                    sum += grad[window];
            }
        }
    }
    out[o] = sum;
    END_EACH
}

#endif
