/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block computes BM x BN of the output by the register tile of kernels/common/tile_gpu.h. Tiles
 * of both operands are staged depth-first in shared memory. With STAGES 2 the next tile travels
 * through registers while this one is used, and one barrier a tile is enough.
 *
 * Edges: what lies outside is staged as zero and never stored. Where the shape divides, the
 * conditions are constants and vanish.
 */
#define LDA (BM + PAD)
#define LDB (BN + PAD)
#include "kernels/common/tile_gpu.h"

#define TILE (BK * (LDA + LDB))
#define A_LOADS CEIL_DIV(BM *BK / VK, THREADS)
#define B_LOADS CEIL_DIV(BN *BK / VK, THREADS)

VECTOR(vec_k, DTYPE, VK);

/* VK elements of one row at depth k, zero outside. */
INLINE vec_k fetch(GLOBAL const DTYPE *RESTRICT from, INDEX row, INDEX rows, INDEX k)
{
    vec_k v;
    if (row < rows && k < K) { /* K is a multiple of VK */
        v = *(GLOBAL const vec_k *)(from + row * K + k);
    } else {
        UNROLL
        for (int i = 0; i < VK; i++)
            v.v[i] = 0;
    }
    return v;
}

INLINE void spread(LOCAL DTYPE *to, int ld, int row, int k, vec_k v)
{
    UNROLL
    for (int i = 0; i < VK; i++)
        to[(k + i) * ld + row] = v.v[i];
}

#define FETCH_TILE(k0)                                                                         \
    UNROLL for (int i = 0; i < A_LOADS; i++)                                                   \
    {                                                                                          \
        const int e = (thread + i * THREADS) * VK;                                             \
        if (BM * BK / VK % THREADS == 0 || e < BM * BK)                                        \
            next_a[i] = fetch(data, m0 + e / BK, M, (k0) + e % BK);                            \
    }                                                                                          \
    UNROLL for (int i = 0; i < B_LOADS; i++)                                                   \
    {                                                                                          \
        const int e = (thread + i * THREADS) * VK;                                             \
        if (BN * BK / VK % THREADS == 0 || e < BN * BK)                                        \
            next_b[i] = fetch(weight, n0 + e / BK, N, (k0) + e % BK);                          \
    }

#define SPREAD_TILE(to)                                                                        \
    UNROLL for (int i = 0; i < A_LOADS; i++)                                                   \
    {                                                                                          \
        const int e = (thread + i * THREADS) * VK;                                             \
        if (BM * BK / VK % THREADS == 0 || e < BM * BK)                                        \
            spread(to, LDA, e / BK, e % BK, next_a[i]);                                        \
    }                                                                                          \
    UNROLL for (int i = 0; i < B_LOADS; i++)                                                   \
    {                                                                                          \
        const int e = (thread + i * THREADS) * VK;                                             \
        if (BN * BK / VK % THREADS == 0 || e < BN * BK)                                        \
            spread((to) + BK * LDA, LDB, e / BK, e % BK, next_b[i]);                           \
    }

KERNEL(TX, TY, 1)
dense(GLOBAL const DTYPE *RESTRICT data, GLOBAL const DTYPE *RESTRICT weight,
      GLOBAL DTYPE *RESTRICT out
#if BIAS
      ,
      GLOBAL const DTYPE *RESTRICT bias
#endif
)
{
    SHARED(pool, STAGES * TILE * sizeof(DTYPE));
    LOCAL DTYPE *const tile = (LOCAL DTYPE *)pool;
    const int tx = THREAD_X, ty = THREAD_Y, thread = ty * TX + tx;
    const INDEX n0 = (INDEX)BLOCK_X * BN, m0 = (INDEX)BLOCK_Y * BM;
    vec_k next_a[A_LOADS], next_b[B_LOADS];
    DTYPE acc[TM][TN];
    tile_clear(acc);
    FETCH_TILE(0)
    SPREAD_TILE(tile)
    BARRIER();
    UNROLL_BY(1)
    for (int t = 0; t < CEIL_DIV(K, BK); t++) {
        LOCAL const DTYPE *a = tile + t % STAGES * TILE, *b = a + BK * LDA;
        const bool more = t + 1 < CEIL_DIV(K, BK);
        if (more) {
            FETCH_TILE((INDEX)(t + 1) * BK)
        }
        tile_multiply(a, b, ty, tx, acc);
        if (STAGES == 1)
            BARRIER();
        if (more) {
            SPREAD_TILE(tile + (t + 1) % STAGES * TILE)
        }
        BARRIER();
    }

    UNROLL
    for (int i = 0; i < TM; i++) {
        const INDEX m = m0 + TILE_ROW(i, ty);
        UNROLL
        for (int j = 0; j < TN; j++) {
            const INDEX n = n0 + TILE_COL(j, tx);
            if (m < M && n < N)
#if BIAS
                out[m * N + n] = acc[i][j] + bias[n];
#else
                out[m * N + n] = acc[i][j];
#endif
        }
    }
}
