/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU bodies of direct convolutions share: a block's outputs and threads by AutoTVM's
 * tiles, the input that they need in shared memory, and the way out. Macros from the plan: the
 * shape, VF TF FI, VY TY YI, VX TX XI, STEP; RY and RX are how many taps are staged at once.
 *
 * Extents divide, so nothing lies outside the output; what lies outside the input is padding.
 * STEP unrolls the inner reduction: 1 never, 0 as the compiler likes, 2 always.
 */
#ifndef OPTUNE_KERNELS_CONV2D_DIRECT_GPU_H
#define OPTUNE_KERNELS_CONV2D_DIRECT_GPU_H

#include "kernels/common/gpu.kernel.h"

#define BF (VF * TF * FI) /* outputs of a block */
#define BY (VY * TY * YI)
#define BX (VX * TX * XI)
#define THREADS (TF * TY * TX)
#define IN_H ((BY - 1) * SH + (RY - 1) * DH + 1) /* rows and columns of the input staged */
#define IN_W ((BX - 1) * SW + (RX - 1) * DW + 1)

#if STEP == 2
#define STEP_LOOP UNROLL
#elif STEP == 1
#define STEP_LOOP UNROLL_BY(1)
#else
#define STEP_LOOP
#endif

/* Where output i of a thread lies in its block. */
#define AT(i, I, T, t) ((i) / (I) * (T) * (I) + (t) * (I) + (i) % (I))

/* `channels` planes of input from row y and column x on, zero outside. */
INLINE void stage_input(GLOBAL const DTYPE *RESTRICT in, const int channels, int y, int x,
                        int thread, LOCAL DTYPE *tile)
{
    for (int e = thread; e < channels * (IN_H * IN_W); e += THREADS) {
        const int c = e / (IN_H * IN_W), row = y + e / IN_W % IN_H, col = x + e % IN_W;
        DTYPE v = 0;
        if ((PT + PB == 0 || (row >= 0 && row < H)) && (PL + PR == 0 || (col >= 0 && col < W)))
            v = in[c * (H * W) + row * W + col];
        tile[e] = v;
    }
}

INLINE void clear(DTYPE acc[VF * FI][VY * YI][VX * XI])
{
    UNROLL
    for (int f = 0; f < VF * FI; f++) {
        UNROLL
        for (int y = 0; y < VY * YI; y++) {
            UNROLL
            for (int x = 0; x < VX * XI; x++)
                acc[f][y][x] = 0;
        }
    }
}

/* `out` is the block's first channel. */
INLINE void store_outputs(GLOBAL DTYPE *RESTRICT out, DTYPE acc[VF * FI][VY * YI][VX * XI],
                          int tf, int y0, int ty, int x0, int tx)
{
    UNROLL
    for (int f = 0; f < VF * FI; f++) {
        UNROLL
        for (int y = 0; y < VY * YI; y++) {
            UNROLL
            for (int x = 0; x < VX * XI; x++)
                out[AT(f, FI, TF, tf) * (OH * OW) + (y0 + AT(y, YI, TY, ty)) * OW + x0 +
                    AT(x, XI, TX, tx)] = acc[f][y][x];
        }
    }
}

#endif
