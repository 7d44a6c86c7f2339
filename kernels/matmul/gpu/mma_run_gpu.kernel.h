/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sums of tensor cores leave a block 16 bytes at a time: RUN products side by side are turned
 * within a quad where they are words of 16 bits, exchanged between neighbours where of 32.
 *
 * Macros: STORED, STORED_BYTES (2 or 4) what is stored; SUM, NT (products of a warp side by side),
 * PAIR (packs two sums, where elements are of 16 bits). All lanes of a warp come together.
 */
#ifndef OPTUNE_KERNELS_MATMUL_MMA_RUN_GPU_H
#define OPTUNE_KERNELS_MATMUL_MMA_RUN_GPU_H

#include "kernels/common/pairs_gpu.kernel.h"

#define RUN (STORED_BYTES == 2 && NT % 4 == 0 ? 4 : 2)
#define RUN_FITS (STORED_BYTES == 4 || NT % 4 == 0)
#define RUN_EACH (16 / STORED_BYTES) /* elements of a thread */

VECTOR(pair, STORED, 2);

#if STORED_BYTES == 2
typedef quad_words run;
#else
VECTOR(run, STORED, 4);
#endif

/* v[RUN][2], two sums of each product of a row, become the elements that this thread stores;
 * returns their first column, from the first product's on. */
INLINE int run_of(run *x, SUM (*v)[2])
{
    const int t = THREAD_X % 4;
#if STORED_BYTES == 2
    UNROLL
    for (int r = 0; r < 4; r++)
        x->v[r] = PAIR(v[r % RUN][0], v[r % RUN][1]);
    quad_turn(x->v);
    return t * 8;
#else
    UNROLL
    for (int c = 0; c < 2; c++) {
        SUM give = t % 2 ? v[0][c] : v[1][c], got;
        TEAM_SWAP(got, give, 1);
        x->v[c] = t % 2 ? got : v[0][c];
        x->v[2 + c] = t % 2 ? v[1][c] : got;
    }
    return t % 2 * 8 + t / 2 * 4;
#endif
}

#endif
