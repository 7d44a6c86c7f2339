/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Winograd in four stages: weights and tiles of the input to their values at the points, a
 * product for each point by the register tile of kernels/matmul/gpu/tile_gpu.kernel.h, and
 * back. Macros from the plan: the shape, the register tile, TILE (outputs of a tile in each
 * direction, 2 or 4), CI_PAD, CO_PAD and P_PAD (whole tiles of the products), FLAT (threads of
 * the other stages), INDEX.
 *
 *   U [point][CI_PAD][CO_PAD]    V [point][CI_PAD][P_PAD]    M [point][CO_PAD][P_PAD]
 *
 * The one idea: everything between the stages is padded to whole blocks, channels of the input
 * with zeros, so the products have no edges, and neighbouring threads are neighbouring tiles. What
 * is behind the last tile and the last channel of the output is anything, and nobody reads what
 * comes of it.
 */
#define LDA BM
#define LDB BN
#include "kernels/matmul/gpu/tile_stage_gpu.kernel.h"

typedef DTYPE vec;
#include "kernels/convolution/winograd/winograd_points.kernel.h"

#define SIDE (TILE + 2)
#define POINTS (SIDE * SIDE)
#define TILES_Y CEIL_DIV(OH, TILE)
#define TILES_X CEIL_DIV(OW, TILE)
#define P ((INDEX)N * TILES_Y * TILES_X)
#define SHARED_TILE (BK * (BM + BN))

/* The transform of columns, then of rows, in place of a 2-D one: t = F a F'. `count` of them
 * in, `points` out. */
#define TWICE(f, from, in, to, out)                                                            \
    {                                                                                          \
        DTYPE half_way[out][in], column[in], done[out];                                        \
        UNROLL for (int j = 0; j < in; j++)                                                    \
        {                                                                                      \
            UNROLL for (int i = 0; i < in; i++) column[i] = from[i][j];                        \
            f(TILE, column, done);                                                             \
            UNROLL for (int i = 0; i < out; i++) half_way[i][j] = done[i];                     \
        }                                                                                      \
        UNROLL for (int i = 0; i < out; i++)                                                   \
        {                                                                                      \
            f(TILE, half_way[i], to[i]);                                                       \
        }                                                                                      \
    }

KERNEL(FLAT, 1, 1)
transform_weight(GLOBAL const DTYPE *RESTRICT weight, GLOBAL DTYPE *RESTRICT u)
{
    const INDEX e = (INDEX)BLOCK_X * FLAT + THREAD_X;
    const int co = (int)(e % CO), ci = (int)(e / CO);
    if (ci < CI_PAD) {
        DTYPE g[3][3], t[SIDE][SIDE];
        UNROLL
        for (int k = 0; k < 9; k++)
            g[k / 3][k % 3] = ci < CI ? weight[((INDEX)co * CI + ci) * 9 + k] : 0;
        TWICE(points_of_weight, g, 3, t, SIDE)
        UNROLL
        for (int k = 0; k < POINTS; k++)
            u[((INDEX)k * CI_PAD + ci) * CO_PAD + co] = t[k / SIDE][k % SIDE];
    }
}

KERNEL(FLAT, 1, 1)
transform_data(GLOBAL const DTYPE *RESTRICT data, GLOBAL DTYPE *RESTRICT v)
{
    const INDEX e = (INDEX)BLOCK_X * FLAT + THREAD_X, p = e % P;
    const int ci = (int)(e / P);
    if (ci < CI_PAD) {
        const int y0 = (int)(p / TILES_X % TILES_Y) * TILE - PT;
        const int x0 = (int)(p % TILES_X) * TILE - PL;
        GLOBAL const DTYPE *RESTRICT const plane =
            data + (p / (TILES_X * TILES_Y) * CI + ci) * (H * W);
        DTYPE d[SIDE][SIDE], t[SIDE][SIDE];
        UNROLL
        for (int y = 0; y < SIDE; y++) {
            UNROLL
            for (int x = 0; x < SIDE; x++)
                d[y][x] = ci < CI && y0 + y >= 0 && y0 + y < H && x0 + x >= 0 && x0 + x < W
                              ? plane[(y0 + y) * W + x0 + x]
                              : 0;
        }
        TWICE(points_of_input, d, SIDE, t, SIDE)
        UNROLL
        for (int k = 0; k < POINTS; k++)
            v[((INDEX)k * CI_PAD + ci) * P_PAD + p] = t[k / SIDE][k % SIDE];
    }
}

KERNEL(THREADS, 1, 1)
multiply(GLOBAL const DTYPE *RESTRICT v, GLOBAL const DTYPE *RESTRICT u,
         GLOBAL DTYPE *RESTRICT m)
{
    SHARED(pool, STAGES * SHARED_TILE * sizeof(DTYPE));
    LOCAL DTYPE *const tile = (LOCAL DTYPE *)pool;
    const int thread = THREAD_X, ty = TILE_TY(thread), tx = TILE_TX(thread);
    const INDEX p0 = (INDEX)BLOCK_X * BM, depth = (INDEX)BLOCK_Z * CI_PAD;
    const int co0 = BLOCK_Y * BN;
    GLOBAL const DTYPE *RESTRICT const a = v + depth * P_PAD + p0;
    GLOBAL const DTYPE *RESTRICT const b = u + depth * CO_PAD + co0;
    tile_vec next_a[TILE_VECS(BM)], next_b[TILE_VECS(BN)];
    DTYPE acc[TM][TN];
    tile_clear(acc);
#define FETCH_TILES(s, on)                                                                     \
    tile_fetch(a + (INDEX)(s)*BK * P_PAD, P_PAD, BM, thread, next_a, on);                      \
    tile_fetch(b + (INDEX)(s)*BK * CO_PAD, CO_PAD, BN, thread, next_b, on);
#define STORE_TILES(to)                                                                        \
    tile_store(to, BM, thread, next_a);                                                        \
    tile_store((to) + BK * BM, BN, thread, next_b);
#define STEPS (CI_PAD / BK)
    TILE_PRODUCT(STEPS, tile, SHARED_TILE, ty, tx, acc)

    GLOBAL DTYPE *RESTRICT const to = m + ((INDEX)BLOCK_Z * CO_PAD + co0) * P_PAD + p0;
    UNROLL
    for (int j = 0; j < TN; j++) {
        UNROLL
        for (int i = 0; i < TM; i += CM) {
            tile_rows sums;
            UNROLL
            for (int c = 0; c < CM; c++)
                sums.v[c] = APART(acc[i + c][j]);
            STORE_VECTOR(
                (GLOBAL tile_rows *)(to + (INDEX)TILE_COL(j, tx) * P_PAD + TILE_ROW(i, ty)),
                sums);
        }
    }
}

VECTOR(tile_line, DTYPE, TILE);

KERNEL(FLAT, 1, 1)
transform_back(GLOBAL const DTYPE *RESTRICT m, GLOBAL DTYPE *RESTRICT out)
{
    const INDEX e = (INDEX)BLOCK_X * FLAT + THREAD_X, p = e % P;
    const int co = (int)(e / P);
    if (co < CO) {
        const int y0 = (int)(p / TILES_X % TILES_Y) * TILE, x0 = (int)(p % TILES_X) * TILE;
        GLOBAL DTYPE *RESTRICT const plane =
            out + (p / (TILES_X * TILES_Y) * CO + co) * (OH * OW);
        DTYPE t[SIDE][SIDE], y[TILE][TILE];
        UNROLL
        for (int k = 0; k < POINTS; k++)
            t[k / SIDE][k % SIDE] = m[((INDEX)k * CO_PAD + co) * P_PAD + p];
        TWICE(outputs_of_points, t, SIDE, y, TILE)
        UNROLL
        for (int r = 0; r < TILE; r++) {
#if OW % TILE == 0
            tile_line line;
            UNROLL
            for (int c = 0; c < TILE; c++)
                line.v[c] = y[r][c];
            if (OH % TILE == 0 || y0 + r < OH)
                *(GLOBAL tile_line *)(plane + (y0 + r) * OW + x0) = line;
#else
            UNROLL
            for (int c = 0; c < TILE; c++)
                if ((OH % TILE == 0 || y0 + r < OH) && x0 + c < OW)
                    plane[(y0 + r) * OW + x0 + c] = y[r][c];
#endif
        }
    }
}
