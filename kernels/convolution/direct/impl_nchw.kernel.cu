/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct convolution in NCHW. Along each of f (output channels), y and x an output index is
 * ((block * V + v) * T + t) * I + i: block, virtual thread, thread and per-thread parts, so
 * that a thread's I outputs are neighbours and its V groups of them lie a block's width of
 * threads apart. The block's part of the input and of the weight for RC channels by RY by RX
 * taps is staged in shared memory, once for each of the RCO * RYO * RXO outer steps.
 */
#include "kernels/convolution/direct/direct_gpu.kernel.h"

#define IN_TILE (RC * IN_H * IN_W)
#define W_TILE (BF * RC * RY * RX)

KERNEL(TX, TY, TF)
conv2d(GLOBAL const DTYPE *RESTRICT data, GLOBAL const DTYPE *RESTRICT weight,
       GLOBAL DTYPE *RESTRICT out)
{
    SHARED(pool, (IN_TILE + W_TILE) * sizeof(DTYPE));
    LOCAL DTYPE *const in_tile = (LOCAL DTYPE *)pool;
    LOCAL DTYPE *const w_tile = in_tile + IN_TILE;
    const int tx = THREAD_X, ty = THREAD_Y, tf = THREAD_Z;
    const int thread = (tf * TY + ty) * TX + tx;
    const int image = BLOCK_Z / (CO / BF), f0 = BLOCK_Z % (CO / BF) * BF;
    const int y0 = BLOCK_Y * BY, x0 = BLOCK_X * BX;
    GLOBAL const DTYPE *RESTRICT const in = data + (i64)image * CI * H * W;

    DTYPE acc[VF * FI][VY * YI][VX * XI];
    clear(acc);
    UNROLL_BY(1)
    for (int step = 0; step < CI / RC * (KH / RY) * (KW / RX); step++) {
        const int kx = step % (KW / RX) * RX, ky = step / (KW / RX) % (KH / RY) * RY;
        const int c0 = step / (KW / RX * (KH / RY)) * RC;
        BARRIER();
        stage_input(in + (i64)c0 * (H * W), RC, y0 * SH + ky * DH - PT, x0 * SW + kx * DW - PL,
                    thread, in_tile);
        for (int e = thread; e < W_TILE; e += THREADS) {
            const int f = e / (RC * RY * RX), c = e / (RY * RX) % RC;
            const int y = e / RX % RY, x = e % RX;
            w_tile[e] = weight[(((f0 + f) * CI + c0 + c) * KH + ky + y) * KW + kx + x];
        }
        BARRIER();
        STEP_LOOP
        for (int c = 0; c < RC; c++) {
            STEP_LOOP
            for (int ry = 0; ry < RY; ry++) {
                STEP_LOOP
                for (int rx = 0; rx < RX; rx++) {
                    DTYPE w[VF * FI];
                    UNROLL
                    for (int f = 0; f < VF * FI; f++)
                        w[f] = w_tile[((AT(f, FI, TF, tf) * RC + c) * RY + ry) * RX + rx];
                    UNROLL
                    for (int y = 0; y < VY * YI; y++) {
                        UNROLL
                        for (int x = 0; x < VX * XI; x++) {
                            const DTYPE v =
                                in_tile[(c * IN_H + AT(y, YI, TY, ty) * SH + ry * DH) * IN_W +
                                        AT(x, XI, TX, tx) * SW + rx * DW];
                            UNROLL
                            for (int f = 0; f < VF * FI; f++)
                                acc[f][y][x] = FMA(v, w[f], acc[f][y][x]);
                        }
                    }
                }
            }
        }
    }

    store_outputs(out + ((i64)image * CO + f0) * (OH * OW), acc, tf, y0, ty, x0, tx);
}
