/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of matrix products by tensor cores, for dense and batch_matmul: out[b,m,n] = sum over
 * k of a[b,m,k] * b[b,n,k], plus bias[n]. Blocks are numbered so that GROUP rows of them are
 * finished together and what they read stays in the L2. With SPLITS > 1 each computes a part of
 * the depth into `partial`, which the stage `finish` adds up in order.
 *
 * Edges: rows of the output beyond its end repeat its last row and are never stored; depth
 * beyond its end is filled with zeros. Where the shape divides, the conditions are constants
 * and vanish.
 *
 * Macros beside the tile's, the copies' and those of kernels/matmul/gpu/product_gpu.kernel.h and
 * mma_out_gpu.kernel.h: N K A_SHARED B_SHARED (one matrix for all batches), GROUP. Blocks beyond
 * the batches and rows that come at run time do nothing.
 */
#include "kernels/matmul/gpu/mma_tile_gpu.kernel.h"
#include "kernels/matmul/gpu/product_gpu.kernel.h"

#define ALL_ROWS ((INDEX)ROWS)
#define BLOCKS_N CEIL_DIV(N, BN)
#define TILES CEIL_DIV(K, DEPTH)
#define PART_TILES CEIL_DIV(TILES, SPLITS)

#include "kernels/matmul/gpu/mma_fill_gpu.kernel.h"
#include "kernels/matmul/gpu/mma_out_gpu.kernel.h"

/* The operands' copies: along the depth, or across it. */
#if A_ACROSS
#define COPIES_A(k) tile_copies_of(a, A_CHUNKS, k, m0, M)
#define FILL_A(to) fill_tile(&next_a, to, 1, DEPTH, A_CHUNKS, K, M);
#else
#define COPIES_A(k) tile_copies_of(a, A_CHUNKS, m0, k, K)
#define FILL_A(to) fill_tile(&next_a, to, 0, BM, A_CHUNKS, rows, K);
#endif
#if B_ACROSS
#define COPIES_B(k) tile_copies_of(b, B_CHUNKS, k, n0, N)
#define FILL_B(to) fill_tile(&next_b, to, 1, DEPTH, B_CHUNKS, K, N);
#else
#define COPIES_B(k) tile_copies_of(b, B_CHUNKS, n0, k, K)
#define FILL_B(to) fill_tile(&next_b, to, 0, BN, B_CHUNKS, N, K);
#endif
#define FILL(to_a, to_b)                                                                       \
    {                                                                                          \
        FILL_A(to_a)                                                                           \
        FILL_B(to_b)                                                                           \
    }

KERNEL(THREADS, 1, 1)
product(GLOBAL const ELEM *RESTRICT a, GLOBAL const ELEM *RESTRICT b,
        GLOBAL STORED *RESTRICT out PRODUCT_PARAMETERS(OUT))
{
    SHARED(pool, STAGES * STAGE_BYTES);
    const int batch = BLOCK_Z / SPLITS, part = BLOCK_Z % SPLITS;
    const tile_start at =
        tile_start_of(BLOCK_X, (int)CEIL_DIV(ALL_ROWS, BM), BLOCKS_N, GROUP);
    const INDEX m0 = at.m, n0 = at.n;
    const INDEX rows = B_VARIES && batch >= BATCHES ? 0 : ALL_ROWS;
    const bool idle = (M_VARIES || B_VARIES) && (m0 >= rows || n0 >= N);
    const int first = part * PART_TILES, tiles = idle ? 0 : MIN(PART_TILES, TILES - first);
    SUM acc[MT][NT][4];
    mma_clear(acc);
    a += A_SHARED ? 0 : (i64)batch * ALL_ROWS * K;
    b += B_SHARED ? 0 : (i64)batch * N * K;
    tile_copies next_a = COPIES_A((INDEX)first * DEPTH);
    tile_copies next_b = COPIES_B((INDEX)first * DEPTH);
    TILE_LOOP(pool, acc, tiles, FILL);

#if SPLITS > 1
    out += (i64)BLOCK_Z * M * N;
#else
    out += (i64)batch * ALL_ROWS * N;
#endif
    STORE_SUMS(acc, out, (INDEX)batch * ALL_ROWS * N, rows, m0, n0)
}
