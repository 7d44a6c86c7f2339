/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct convolution in NCHW. Along each of f (output channels), y and x an output index is
 * ((block * V + v) * T + t) * I + i: block, virtual thread, thread and per-thread parts, so that a
 * thread's I outputs are neighbours and its V groups of them lie a block's width of threads apart.
 * The block's part of the input and of the weight for RC channels by RY by RX taps is staged in shared
 * memory, once for each of the RCO * RYO * RXO outer steps.
 *
 * Extents divide, so nothing lies outside the output; what lies outside the input is padding.
 * STEP unrolls the inner reduction: 1 never, 0 as the compiler likes, 2 always.
 */
#include "kernels/common/gpu.h"

#define BF (VF * TF * FI) /* outputs of a block */
#define BY (VY * TY * YI)
#define BX (VX * TX * XI)
#define THREADS (TF * TY * TX)
#define IN_H ((BY - 1) * SH + (RY - 1) * DH + 1) /* rows and columns of the input staged */
#define IN_W ((BX - 1) * SW + (RX - 1) * DW + 1)
#define IN_TILE (RC * IN_H * IN_W)
#define W_TILE (BF * RC * RY * RX)

#if STEP == 2
#define STEP_LOOP UNROLL
#elif STEP == 1
#define STEP_LOOP UNROLL_BY(1)
#else
#define STEP_LOOP
#endif

/* Where output i of a thread lies in its block. */
#define AT(i, I, T, t) ((i) / (I) * (T) * (I) + (t) * (I) + (i) % (I))

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
    UNROLL
    for (int f = 0; f < VF * FI; f++) {
        UNROLL
        for (int y = 0; y < VY * YI; y++) {
            UNROLL
            for (int x = 0; x < VX * XI; x++)
                acc[f][y][x] = 0;
        }
    }

    UNROLL_BY(1)
    for (int step = 0; step < CI / RC * (KH / RY) * (KW / RX); step++) {
        const int kx = step % (KW / RX) * RX, ky = step / (KW / RX) % (KH / RY) * RY;
        const int c0 = step / (KW / RX * (KH / RY)) * RC;
        BARRIER();
        for (int e = thread; e < IN_TILE; e += THREADS) {
            const int c = e / (IN_H * IN_W), row = e / IN_W % IN_H, col = e % IN_W;
            const int y = y0 * SH + row + ky * DH - PT, x = x0 * SW + col + kx * DW - PL;
            DTYPE v = 0;
            if ((PT + PB == 0 || (y >= 0 && y < H)) && (PL + PR == 0 || (x >= 0 && x < W)))
                v = in[(c0 + c) * (H * W) + y * W + x];
            in_tile[e] = v;
        }
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

    GLOBAL DTYPE *RESTRICT const o = out + ((i64)image * CO + f0) * (OH * OW);
    UNROLL
    for (int f = 0; f < VF * FI; f++) {
        UNROLL
        for (int y = 0; y < VY * YI; y++) {
            UNROLL
            for (int x = 0; x < VX * XI; x++)
                o[AT(f, FI, TF, tf) * (OH * OW) + (y0 + AT(y, YI, TY, ty)) * OW + x0 +
                  AT(x, XI, TX, tx)] = acc[f][y][x];
        }
    }
}
