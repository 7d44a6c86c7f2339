/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool2d_grad_gather.gpu: a share of each window that holds the element. */
#include "kernels/pool/body_gpu.h"

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
