/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where SLICES groups of THREADS threads of a block take a part of each tile's depth: their sums
 * meet in shared memory. Macros: those of kernels/matmul/gpu/tile_gpu.kernel.h.
 */
#ifndef OPTUNE_KERNELS_MATMUL_SLICES_GPU_H
#define OPTUNE_KERNELS_MATMUL_SLICES_GPU_H

#include "kernels/matmul/gpu/tile_gpu.kernel.h"

#define MEET (SLICES / 2 * BM * BN) /* places where slices meet */

#if SLICES > 1
/* The sums of all slices become those of slice 0; nobody reads or writes the pool meanwhile. */
INLINE void meet(LOCAL DTYPE *pool, int slice, int t, DTYPE acc[TM][TN])
{
    UNROLL_BY(1)
    for (int pair = SLICES / 2; pair > 0; pair /= 2) {
        LOCAL DTYPE *const at = pool + slice % pair * (BM * BN) + t;
        if (slice >= pair && slice < 2 * pair) {
            UNROLL
            for (int i = 0; i < TM * TN; i++)
                at[i * THREADS] = acc[i / TN][i % TN];
        }
        BARRIER();
        if (slice < pair) {
            UNROLL
            for (int i = 0; i < TM * TN; i++)
                acc[i / TN][i % TN] += at[i * THREADS];
        }
        BARRIER();
    }
}
#endif

#endif
