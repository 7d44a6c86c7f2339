/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of pooling on GPUs, a tile of a plane at a time: what each window gives that may hold
 * something of the tile is found once and kept in shared memory, a maximum's with the element that
 * takes it, and then every element of the tile asks the windows around it. Windows at a tile's edge
 * are found by its neighbours, too.
 *
 * A thread asks for the SH rows that have the same windows around them. Macros beside those of
 * kernels/pool/body_gpu.kernel.h: POOL_MEAN, TILE_Y (in such rows), TILE_X (columns), HOLD_Y and
 * HOLD_X (windows that may hold an element, along each axis), IN_T OUT_T IN_OF RESULT_BY.
 */
#include "kernels/pool/body_gpu.kernel.h"

#define TILES_Y CEIL_DIV(H + PT, TILE_Y *SH)
#define TILES_X CEIL_DIV(W, TILE_X)
#define WINDOWS_Y (TILE_Y + HOLD_Y - 1)
#define WINDOWS_X ((TILE_X + SW - 2) / SW + HOLD_X)
#define WINDOWS (WINDOWS_Y * WINDOWS_X * BLOCK)
#define REACH_Y ((KH - 1) * DH)
#define REACH_X ((KW - 1) * DW)

/* What a window gives, and to which element of its plane; -1: to none. */
typedef struct ALIGNED(2 * sizeof(DTYPE)) given {
    DTYPE grad;
    i32 to;
} given;

/* The element that window (oy, ox) of a maximum takes, the first in row-major order. */
INLINE i32 chosen_by(GLOBAL const IN_T *RESTRICT plane, int oy, int ox, int c)
{
    const int top = oy * SH - PT, left = ox * SW - PL;
    GLOBAL const IN_T *const from = plane + ((i64)top * W + left) * BLOCK + c;
    DTYPE best = 0;
    i32 which = -1;
    UNROLL_BY(UNROLL_Y)
    for (int i = 0; i < KH; i++) {
        DTYPE row[KW];
        UNROLL_BY(UNROLL_X)
        for (int j = 0; j < KW; j++) {
            row[j] = 0;
            if (inside(top + i * DH, H) && inside(left + j * DW, W))
                row[j] = (DTYPE)IN_OF(from[(i * DH * W + j * DW) * BLOCK]);
        }
        UNROLL_BY(UNROLL_X)
        for (int j = 0; j < KW; j++) {
            const bool more = which < 0 || (best == best && !(row[j] <= best));
            if (inside(top + i * DH, H) && inside(left + j * DW, W) && more) {
                best = row[j];
                which = ((top + i * DH) * W + left + j * DW) * BLOCK + c;
            }
        }
    }
    return which;
}

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
        g.grad = 0;
        g.to = -1;
        if (inside(oy, OH) && inside(ox, OW)) {
            g.grad = (DTYPE)IN_OF(grad[(oy * OW + ox) * BLOCK + c]);
#if POOL_MEAN
            g.grad /= UNIFORM ? (DTYPE)(KH * KW) : counts(oy, ox);
#else
            g.to = chosen_by(data + plane * (H * W * BLOCK), oy, ox, c);
#endif
        }
        windows[w] = g;
    }
    BARRIER();
    UNROLL_BY(1)
    for (int e = THREAD_X; e < TILE_Y * TILE_X * BLOCK; e += THREADS) {
        const int c = e % BLOCK, column = e / BLOCK % TILE_X, deep = e / BLOCK / TILE_X;
        const int x = across + column, y = (first_y + HOLD_Y - 1 + deep) * SH - PT;
        const int last_x = (x + PL) / SW, behind_x = (x + PL) % SW;
        LOCAL const given *const around =
            windows + ((deep + HOLD_Y - 1) * WINDOWS_X + last_x - first_x) * BLOCK + c;
        const i32 me = (y * W + x) * BLOCK + c;
        DTYPE sum[SH];
        UNROLL
        for (int r = 0; r < SH; r++)
            sum[r] = 0;
        UNROLL_BY(UNROLL_HOLDS)
        for (int i = HOLD_Y - 1; i >= 0; i--) {
            UNROLL_BY(UNROLL_HOLDS)
            for (int j = HOLD_X - 1; j >= 0; j--) {
                const given g = around[-(i * WINDOWS_X + j) * BLOCK];
                UNROLL
                for (int r = 0; r < SH; r++) {
#if POOL_MEAN
                    const int at_y = r + i * SH, at_x = behind_x + j * SW;
                    const bool held = at_y <= REACH_Y && at_y % DH == 0 && at_x <= REACH_X &&
                                      at_x % DW == 0;
#else
                    const bool held = g.to == me + r * (W * BLOCK);
#endif
                    sum[r] += held ? g.grad : 0;
                }
            }
        }
        UNROLL
        for (int r = 0; r < SH; r++)
            if (x < W && inside(y + r, H))
                out[me + r * (W * BLOCK)] = RESULT(sum[r]);
    }
}
