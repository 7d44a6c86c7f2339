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
#include "kernels/common/epilogue_gpu.kernel.h"
#include "kernels/common/mma_gpu.kernel.h"

#define TAPS (KH * KW)
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
#if PIECE == 4
        cp_async_8_zero(to, from, inside ? 8 : 0);
#elif PIECE == 2
        cp_async_4_zero(to, from, inside ? 4 : 0);
#else
        *to = inside ? *from : 0;
#endif
    }
    cp_async_commit();
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
    const int first = (int)(item % BANDS) * ROWS, f = (int)(plane % CO);
    u32 band[KH][2];
    if (mine)
        stage_band(held, data + ((i64)(plane / CO) * CI + f / CO_G) * (H * W), first - PT, t,
                   TEAM * 32);
    load_taps(weight + (i64)f * TAPS, lane, band);
    CP_ASYNC_WAIT(0);
    BARRIER();
    if (!mine)
        return;
    UNROLL_BY(1)
    for (int tile = warp % TEAM; tile < TILES * ACROSS; tile += TEAM) {
        const int down = tile / ACROSS * 16, across = tile % ACROSS * 8;
        float sums[4] = {0, 0, 0, 0};
        UNROLL
        for (int ky = 0; ky < KH; ky++) {
            u32 in[4];
            ldmatrix_x4(in, held + (down + ky + lane % 16) * STRIDE + across + lane / 16 * 8);
            MMA(sums, in, band[ky]);
        }
        UNROLL
        for (int side = 0; side < 2; side++) {
            const int y = first + down + side * 8 + lane / 4, x = across + lane % 4 * 2;
            const INDEX to = plane * (OH * OW) + (INDEX)y * OW + x;
            if (y >= OH || x >= OW)
                continue;
            pair values = {{0, 0}};
            UNROLL
            for (int e = 0; e < 2; e++)
                if (OW % 2 == 0 || x + e < OW) {
#if EPILOGUE
                    float value = sums[side * 2 + e];
                    EPILOGUE_APPLY(value, (to + e))
                    values.v[e] = EPILOGUE_WRITE(value);
#else
                    values.v[e] = (OUT_T)(RESULT_BY(sums[side * 2 + e]));
#endif
                    if (OW % 2)
                        out[to + e] = values.v[e];
                }
#if OW % 2 == 0
            STORE_VECTOR((GLOBAL pair *)(out + to), values);
#endif
        }
    }
}
