/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution in NCHW: output channel f sees input channel f / MULTIPLIER. The
 * block's part of the input, CHANNELS planes of it, and its weights are staged in shared memory
 * once, with all taps. Outputs are laid out over blocks and threads as in conv2d_nchw.cuda.
 */
#define RY KH
#define RX KW
#include "kernels/convolution/direct/direct_gpu.kernel.h"

#define TAPS (KH * KW)
#define IN_TILE (CHANNELS * IN_H * IN_W)

KERNEL(TX, TY, TF)
conv2d(GLOBAL const DTYPE *RESTRICT data, GLOBAL const DTYPE *RESTRICT weight,
       GLOBAL DTYPE *RESTRICT out)
{
    SHARED(pool, (IN_TILE + BF * TAPS) * sizeof(DTYPE));
    LOCAL DTYPE *const in_tile = (LOCAL DTYPE *)pool;
    LOCAL DTYPE *const w_tile = in_tile + IN_TILE;
    const int tx = THREAD_X, ty = THREAD_Y, tf = THREAD_Z;
    const int thread = (tf * TY + ty) * TX + tx;
    const int image = BLOCK_Z / (CO / BF), f0 = BLOCK_Z % (CO / BF) * BF;
    const int y0 = BLOCK_Y * BY, x0 = BLOCK_X * BX;
    const int c0 = f0 / MULTIPLIER, channels = MIN(CHANNELS, CI - c0);
    DTYPE acc[VF * FI][VY * YI][VX * XI];
    clear(acc);
    stage_input(data + ((i64)image * CI + c0) * (H * W), channels, y0 * SH - PT, x0 * SW - PL,
                thread, in_tile);
    for (int e = thread; e < BF * TAPS; e += THREADS)
        w_tile[e] = weight[f0 * TAPS + e];
    BARRIER();

    STEP_LOOP
    for (int ky = 0; ky < KH; ky++) {
        STEP_LOOP
        for (int kx = 0; kx < KW; kx++) {
            UNROLL
            for (int f = 0; f < VF * FI; f++) {
                const int channel = AT(f, FI, TF, tf);
                const DTYPE w = w_tile[channel * TAPS + ky * KW + kx];
                LOCAL const DTYPE *const plane =
                    in_tile + ((f0 + channel) / MULTIPLIER - c0) * (IN_H * IN_W);
                UNROLL
                for (int y = 0; y < VY * YI; y++) {
                    UNROLL
                    for (int x = 0; x < VX * XI; x++)
                        acc[f][y][x] = FMA(plane[(AT(y, YI, TY, ty) * SH + ky * DH) * IN_W +
                                                 AT(x, XI, TX, tx) * SW + kx * DW],
                                           w, acc[f][y][x]);
                }
            }
        }
    }
    store_outputs(out + ((i64)image * CO + f0) * (OH * OW), acc, tf, y0, ty, x0, tx);
}
