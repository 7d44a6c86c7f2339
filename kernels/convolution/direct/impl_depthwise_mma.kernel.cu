/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution in NCHW by tensor cores, of 16-bit floats with strides of 1: 16 rows by 8
 * columns of outputs are, for each row of the weight, a product of 16 rows by 16 columns of the
 * input and a band of that row's taps. TEAM warps have a band of TILES * 16 rows of a plane in
 * shared memory, with zeros around it; what they multiply by stays in their registers.
 *
 * What lies in a product's columns and outside of a window meets a tap of 0: an infinity or a NaN
 * in the input reaches up to 11 columns to either side.
 *
 * Macros: the shape, OUT_T RESULT_BY, INDEX, MMA, WARPS TEAM TILES, PIECE (elements that are
 * staged at once: rows are multiples of it).
 */
#include "kernels/convolution/direct/depthwise_gpu.kernel.h"

#define ROWS (TILES * 16)
#define BANDS CEIL_DIV(OH, ROWS)
#define ACROSS CEIL_DIV(OW, 8)
#define AHEAD 4 /* columns of a product in front of its outputs' */
#define IN_ROWS (ROWS + KH - 1)
/* Columns that are staged, and from row to row: an odd number of vectors, so that eight rows lie
 * in different banks. */
#define COLUMNS (ACROSS * 8 + 8)
#define STRIDE (CEIL_DIV(ACROSS, 2) * 16 + 8)
#define BAND_ELEMENTS (IN_ROWS * STRIDE)
#define PLANES (WARPS / TEAM) /* bands of a block */
/* Products beside each other that a warp computes at once: neighbours share 8 of their columns. */
#define RUNS CEIL_DIV(ACROSS, 2)
#define RUN CEIL_DIV(ACROSS, RUNS)

VECTOR(pair, OUT_T, 2);

/* A band from row `top` of the plane on, by `threads` threads of which this is `t`. */
INLINE void stage_band(LOCAL u16 *held, GLOBAL const u16 *RESTRICT plane, const int top,
                       const int t, const int threads)
{
    UNROLL_BY(4)
    for (int i = t; i < IN_ROWS * (COLUMNS / PIECE); i += threads) {
        const int row = i / (COLUMNS / PIECE), at = i % (COLUMNS / PIECE) * PIECE;
        const int y = top + row, x = at - AHEAD;
        const bool inside = y >= 0 && y < H && x >= 0 && x < W;
        GLOBAL const u16 *const from = plane + (inside ? y * W + x : 0);
        LOCAL u16 *const to = held + row * STRIDE + at;
        STAGE(PIECE * 2, to, from, inside);
    }
    STAGE_COMMIT();
}

/* The band of taps of each row of a weight, as a product takes it: column k of its input lies
 * k - AHEAD behind the first output's, so output n meets it by tap k - AHEAD - n + PL. */
INLINE void load_taps(GLOBAL const u16 *RESTRICT taps, const int lane, u32 band[KH][2])
{
    UNROLL
    for (int ky = 0; ky < KH; ky++) {
        UNROLL
        for (int side = 0; side < 2; side++) {
            u32 word = 0;
            UNROLL
            for (int e = 0; e < 2; e++) {
                const int kx = side * 8 + lane % 4 * 2 + e - AHEAD - lane / 4 + PL;
                if (kx >= 0 && kx < KW)
                    word |= (u32)taps[ky * KW + kx] << 16 * e;
            }
            band[ky][side] = word;
        }
    }
}

KERNEL(WARPS * 32, 1, 1)
depthwise(GLOBAL const u16 *RESTRICT data, GLOBAL const u16 *RESTRICT weight,
          GLOBAL OUT_T *RESTRICT out EPILOGUE_PARAMETERS)
{
    SHARED(pool, PLANES * BAND_ELEMENTS * sizeof(u16));
    const int lane = THREAD_X % 32, warp = THREAD_X / 32, t = THREAD_X % (TEAM * 32);
    LOCAL u16 *const held = (LOCAL u16 *)pool + warp / TEAM * BAND_ELEMENTS;
    const INDEX item = (INDEX)BLOCK_X * PLANES + warp / TEAM;
    const bool mine = item < (INDEX)N * CO * BANDS;
    const INDEX plane = mine ? item / BANDS : 0;
    const int first = (int)(item % BANDS) * ROWS;
    u32 band[KH][2];
    if (mine)
        stage_band(held, INPUT_PLANE(data, plane), first - PT, t, TEAM * 32);
    load_taps(TAPS_OF(weight, plane), lane, band);
    STAGE_WAIT();
    BARRIER();
    if (!mine)
        return;
    UNROLL_BY(1)
    for (int run = warp % TEAM; run < TILES * RUNS; run += TEAM) {
        const int down = run % TILES * 16, own = run / TILES * RUN;
        const int tile = MIN(own, ACROSS - RUN); /* the last run begins within the one before */
        LOCAL const u16 *const from = held + (down + lane % 16) * STRIDE + tile * 8;
        float sums[RUN][4];
        UNROLL
        for (int j = 0; j < RUN * 4; j++)
            sums[j / 4][j % 4] = 0;
        UNROLL
        for (int ky = 0; ky < KH; ky++) {
            u32 in[2 * (RUN + 1)]; /* two words of 8 columns each */
            UNROLL
            for (int n = 0; n < RUN; n += 2)
                ldmatrix_x4(in + 2 * n, from + ky * STRIDE + n * 8 + lane / 16 * 8);
            if (RUN % 2 == 0)
                ldmatrix_x2(in + 2 * RUN, from + ky * STRIDE + RUN * 8);
            UNROLL
            for (int j = 0; j < RUN; j++)
                MMA(sums[j], in + 2 * j, band[ky]);
        }
        UNROLL
        for (int j = 0; j < RUN; j++) {
            UNROLL
            for (int side = 0; side < 2; side++) {
                const int y = first + down + side * 8 + lane / 4;
                const int x = (tile + j) * 8 + lane % 4 * 2;
                const INDEX to = plane * (OH * OW) + (INDEX)y * OW + x;
                if (tile + j >= own && y < OH && x < OW)
                    STORE_ROW(pair, 2, out, to, x, sums[j] + side * 2);
            }
        }
    }
}
