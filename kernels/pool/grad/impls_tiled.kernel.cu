/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of pooling on GPUs, a tile of a plane at a time: what each window gives that may hold
 * something of the tile is found once and kept in shared memory, a maximum's with the element that
 * takes it, and then every element of the tile asks the windows around it. Windows at a tile's edge
 * are found by its neighbours, too.
 *
 * A thread asks for CELLS times the SH rows that have the same windows around them. Macros beside
 * those of kernels/pool/body_gpu.kernel.h: POOL_MEAN, TILE_Y (in such rows), TILE_X (columns),
 * CELLS, HOLD_Y and HOLD_X (windows that may hold an element, along each axis), NEAR (taps are
 * neighbours, few enough to unroll), IN_T OUT_T IN_OF RESULT_BY.
 */
#include "kernels/pool/body_gpu.kernel.h"

#define TILES_Y CEIL_DIV(H + PT, TILE_Y * SH)
#define TILES_X CEIL_DIV(W, TILE_X)
#define WINDOWS_Y (TILE_Y + HOLD_Y - 1)
#define WINDOWS_X ((TILE_X + SW - 2) / SW + HOLD_X)
#define WINDOWS (WINDOWS_Y * WINDOWS_X * BLOCK)
#define ROWS (CELLS * SH) /* of a thread */
#define REACH_Y ((KH - 1) * DH)
#define REACH_X ((KW - 1) * DW)

/* Row r of a thread in the i-th row of its windows: how many windows up from its last one that is,
 * its place there, and whether there is one. */
#define BACK(r, i) (HOLD_Y - 1 + (r) / SH - (i))
#define AT_Y(r, i) ((r) % SH + BACK(r, i) * SH)
#define HOLDS_ROW(r, i) (BACK(r, i) >= 0 && AT_Y(r, i) <= REACH_Y)

/* What a window gives: of a mean a share to all of its elements; of a maximum to which element of
 * its plane, too; -1: to none. */
#if POOL_MEAN
typedef DTYPE given;
#else
typedef struct ALIGNED(2 * sizeof(DTYPE)) given {
    DTYPE grad;
    i32 to;
} given;
#endif

/* The element that window (oy, ox) of a maximum takes, the first in row-major order. */
#if NEAR
/* Taps outside are read where the nearest one inside lies, which comes first, or has come. */
INLINE i32 chosen_by(GLOBAL const IN_T *RESTRICT plane, int oy, int ox, int c)
{
    const int top = oy * SH - PT, left = ox * SW - PL;
    i32 at_y[KH], at_x[KW], which = -1;
    DTYPE taps[KH * KW], most;
    UNROLL
    for (int i = 0; i < KH; i++)
        at_y[i] = MIN(MAX(top + i, 0), H - 1) * (W * BLOCK) + c;
    UNROLL
    for (int j = 0; j < KW; j++)
        at_x[j] = MIN(MAX(left + j, 0), W - 1) * BLOCK;
    UNROLL
    for (int k = 0; k < KH * KW; k++)
        taps[k] = (DTYPE)IN_OF(plane[at_y[k / KW] + at_x[k % KW]]);
    most = taps[0];
    UNROLL
    for (int k = 1; k < KH * KW; k++)
        most = MAX_NAN(taps[k], most);
    UNROLL
    for (int k = KH * KW - 1; k >= 0; k--)
        if (taps[k] == most)
            which = at_y[k / KW] + at_x[k % KW];
    if (most != most) { /* a NaN: none is equal */
        UNROLL
        for (int k = KH * KW - 1; k >= 0; k--)
            if (taps[k] != taps[k])
                which = at_y[k / KW] + at_x[k % KW];
    }
    return top < H && top + KH > 0 && left < W && left + KW > 0 ? which : -1;
}
#else
INLINE i32 chosen_by(GLOBAL const IN_T *RESTRICT plane, int oy, int ox, int c)
{
    const int top = oy * SH - PT, left = ox * SW - PL;
    GLOBAL const IN_T *const from = plane + ((i64)top * W + left) * BLOCK + c;
    DTYPE best = 0;
    i32 which = -1;
    UNROLL_BY(1)
    for (int i = 0; i < KH; i++) {
        UNROLL_BY(1)
        for (int j = 0; j < KW; j++) {
            if (inside(top + i * DH, H) && inside(left + j * DW, W)) {
                const DTYPE v = (DTYPE)IN_OF(from[(i * DH * W + j * DW) * BLOCK]);
                if (which < 0 || (best == best && !(v <= best))) {
                    best = v;
                    which = ((top + i * DH) * W + left + j * DW) * BLOCK + c;
                }
            }
        }
    }
    return which;
}
#endif

KERNEL(THREADS, 1, 1)
gather(GLOBAL const IN_T *RESTRICT grad,
#if !POOL_MEAN
       GLOBAL const IN_T *RESTRICT data,
#endif
       GLOBAL OUT_T *RESTRICT out)
{
    SHARED(tile_pool, WINDOWS * sizeof(given));
    LOCAL given *const windows = (LOCAL given *)tile_pool;
    const int tile = BLOCK_X % (TILES_Y * TILES_X), across = tile % TILES_X * TILE_X;
    const i64 plane = BLOCK_X / (TILES_Y * TILES_X);
    const int first_y = tile / TILES_X * TILE_Y - (HOLD_Y - 1);
    const int first_x = (across + PL) / SW - (HOLD_X - 1);
    grad += plane * (OH * OW * BLOCK);
    out += plane * (H * W * BLOCK);
    UNROLL_BY(1)
    for (int w = THREAD_X; w < WINDOWS; w += THREADS) {
        const int c = w % BLOCK, ox = first_x + w / BLOCK % WINDOWS_X;
        const int oy = first_y + w / BLOCK / WINDOWS_X;
        given g;
#if POOL_MEAN
        g = 0;
        if (inside(oy, OH) && inside(ox, OW)) {
            g = (DTYPE)IN_OF(grad[(oy * OW + ox) * BLOCK + c]);
            if (counts_all(oy * SH - PT, KH, DH, H, PB) &&
                counts_all(ox * SW - PL, KW, DW, W, PR))
                g *= (DTYPE)1 / (DTYPE)(KH * KW);
            else
                g /= counts(oy, ox);
        }
#else
        g.grad = 0;
        g.to = -1;
        if (inside(oy, OH) && inside(ox, OW)) {
            g.grad = (DTYPE)IN_OF(grad[(oy * OW + ox) * BLOCK + c]);
            g.to = chosen_by(data + plane * (H * W * BLOCK), oy, ox, c);
        }
#endif
        windows[w] = g;
    }
    BARRIER();
    UNROLL_BY(1)
    for (int e = THREAD_X; e < TILE_Y / CELLS * TILE_X * BLOCK; e += THREADS) {
        const int c = e % BLOCK, column = e / BLOCK % TILE_X, deep = e / BLOCK / TILE_X * CELLS;
        const int x = across + column, y = (first_y + HOLD_Y - 1 + deep) * SH - PT;
        const int last_x = (x + PL) / SW, behind_x = (x + PL) % SW;
        LOCAL const given *const around =
            windows + (deep * WINDOWS_X + last_x - first_x) * BLOCK + c;
        const i32 me = (y * W + x) * BLOCK + c;
        DTYPE sum[ROWS];
        UNROLL
        for (int r = 0; r < ROWS; r++)
            sum[r] = 0;
        UNROLL_BY(UNROLL_HOLDS)
        for (int i = 0; i < CELLS + HOLD_Y - 1; i++) {
#if POOL_MEAN
            DTYPE line = 0; /* of the windows beside each other, for all rows that these hold */
            UNROLL_BY(UNROLL_HOLDS)
            for (int j = HOLD_X - 1; j >= 0; j--) {
                const int at_x = behind_x + j * SW;
                const given g = around[(i * WINDOWS_X - j) * BLOCK];
                if (at_x <= REACH_X && at_x % DW == 0)
                    line += g;
            }
            UNROLL
            for (int r = 0; r < ROWS; r++)
                if (HOLDS_ROW(r, i) && AT_Y(r, i) % DH == 0)
                    sum[r] += line;
#else
            UNROLL_BY(UNROLL_HOLDS)
            for (int j = HOLD_X - 1; j >= 0; j--) {
                const given g = around[(i * WINDOWS_X - j) * BLOCK];
                UNROLL
                for (int r = 0; r < ROWS; r++)
                    if (HOLDS_ROW(r, i) && g.to == me + r * (W * BLOCK))
                        sum[r] += g.grad;
            }
#endif
        }
        UNROLL
        for (int r = 0; r < ROWS; r++)
            if (x < W && inside(y + r, H))
                out[me + r * (W * BLOCK)] = RESULT(sum[r]);
    }
}
