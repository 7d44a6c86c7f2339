/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The register tile of GPU products: what a thread does with two tiles that lie in shared
 * memory, depth first: a[BK][LDA] holds BM rows, b[BK][LDB] holds BN columns. It stages nothing
 * and knows neither where the tiles come from nor where the sums go, so dense products,
 * convolutions and winograd share it. Macros: DTYPE BM BN BK TM TN CM CN UNROLL_K LDA LDB. A
 * body that lays its tiles out in another way defines where depth k of each begins (TILE_A_AT,
 * TILE_B_AT), and one whose threads share the depth of a tile how much of it is a thread's
 * (TILE_DEPTH).
 *
 * A thread computes TM x TN of the block's BM x BN sums, in chunks of CM x CN that are one
 * vector of shared memory each and lie a block's width of threads apart, so that neighbours
 * read neighbouring words. `ty` counts threads along the rows, `tx` along the columns; which of
 * them is the faster one within a warp is the body's choice: the side that is stored along.
 */
#ifndef OPTUNE_KERNELS_COMMON_TILE_GPU_H
#define OPTUNE_KERNELS_COMMON_TILE_GPU_H

#include "kernels/common/gpu.kernel.h"

#define TX (BN / TN)
#define TY (BM / TM)
#define THREADS (TX * TY)

#ifndef TILE_DEPTH
#define TILE_DEPTH BK
#endif
#ifndef TILE_A_AT
#define TILE_A_AT(k) ((k)*LDA)
#define TILE_B_AT(k) ((k)*LDB)
#endif

/* The threads of a warp cover 8 rows by 4 columns of threads, so that they read little of
 * shared memory and store whole lines along the rows: for bodies that number threads
 * themselves. */
#define WARP_Y MIN(TY, 8)
#define WARP_X MIN(TX, 32 / WARP_Y)
#define TILE_TY(t) ((t) % WARP_Y + (t) / (WARP_Y * WARP_X) % (TY / WARP_Y) * WARP_Y)
#define TILE_TX(t) ((t) / WARP_Y % WARP_X + (t) / (WARP_X * TY) * WARP_X)

/* Where sum i, j of a thread lies in the block. */
#define TILE_ROW(i, ty) ((ty)*CM + (i) / CM * CM * TY + (i) % CM)
#define TILE_COL(j, tx) ((tx)*CN + (j) / CN * CN * TX + (j) % CN)

VECTOR(tile_rows, DTYPE, CM);
VECTOR(tile_cols, DTYPE, CN);

INLINE void tile_clear(DTYPE acc[TM][TN])
{
    UNROLL
    for (int i = 0; i < TM; i++) {
        UNROLL
        for (int j = 0; j < TN; j++)
            acc[i][j] = 0;
    }
}

/* acc += the product over TILE_DEPTH of depth. */
INLINE void tile_multiply(LOCAL const DTYPE *a, LOCAL const DTYPE *b, int ty, int tx,
                          DTYPE acc[TM][TN])
{
    UNROLL_BY(UNROLL_K)
    for (int k = 0; k < TILE_DEPTH; k++) {
        DTYPE ra[TM], rb[TN];
        UNROLL
        for (int i = 0; i < TM; i += CM) {
            const tile_rows v = *(LOCAL const tile_rows *)(a + TILE_A_AT(k) + TILE_ROW(i, ty));
            UNROLL
            for (int c = 0; c < CM; c++)
                ra[i + c] = v.v[c];
        }
        UNROLL
        for (int j = 0; j < TN; j += CN) {
            const tile_cols v = *(LOCAL const tile_cols *)(b + TILE_B_AT(k) + TILE_COL(j, tx));
            UNROLL
            for (int c = 0; c < CN; c++)
                rb[j + c] = v.v[c];
        }
        UNROLL
        for (int i = 0; i < TM; i++) {
            UNROLL
            for (int j = 0; j < TN; j++)
                acc[i][j] = FMA(ra[i], rb[j], acc[i][j]);
        }
    }
}

#endif
