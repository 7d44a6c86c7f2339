/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensor-core tile of GPU products: a block computes BM x BN, a warp WM x WN of that, from
 * tiles of KB bytes of depth that travel into STAGES buffers of shared memory while earlier
 * ones are used. Whose products these are is the body's: it fills the tiles and stores the
 * sums.
 *
 * Tiles are rows of 16-byte chunks. Chunk c of row r lies at place c ^ f(r), where f makes the
 * eight rows that ldmatrix reads at once, and the chunks that eight threads write at once, fall
 * on different banks. An operand lies along its depth (rows of the product, KB bytes each), or,
 * with A_ACROSS or B_ACROSS and 16-bit elements, across it (rows of depth); ldmatrix transposes
 * the latter. Fragments are loaded one step ahead of the products that use them, across tiles,
 * too.
 *
 * Macros: BM BN WM WN KB (64 or 128) STAGES A_ACROSS B_ACROSS; MMA, a word of mma_gpu.kernel.h;
 * SUM, the type of its sums; TF32, whether elements are float32 that it must be given rounded.
 * The idea of swizzled tiles and of the loop's order is that of NVIDIA's CUTLASS.
 */
#ifndef OPTUNE_KERNELS_COMMON_MMA_TILE_GPU_H
#define OPTUNE_KERNELS_COMMON_MMA_TILE_GPU_H

#include "kernels/common/mma_gpu.kernel.h"

#define WARPS_M (BM / WM)
#define WARPS_N (BN / WN)
#define THREADS (32 * WARPS_M * WARPS_N)
#define MT (WM / 16)
#define NT (WN / 8)
#define STEPS (KB / 32) /* products in depth of a tile; even */

/* Chunks of a row, and bytes, of the tiles. */
#define A_CHUNKS (A_ACROSS ? BM / 8 : KB / 16)
#define B_CHUNKS (B_ACROSS ? BN / 8 : KB / 16)
#define A_BYTES (BM * KB)
#define B_BYTES (BN * KB)
#define STAGE_BYTES (A_BYTES + B_BYTES)

typedef unsigned char byte;

enum { TILE_PERIOD = 8 }; /* rows so many apart are swizzled alike */

INLINE int tile_swizzle(int chunks, int row)
{
    return chunks >= 8 ? row % 8 : row / (8 / chunks) % chunks;
}

/* Where chunk `c` of row `row` lies. */
INLINE int tile_place(int chunks, int row, int c)
{
    return (row * chunks + (c ^ tile_swizzle(chunks, row))) * 16;
}

/* Where this lane's row of an operand's fragments begins: the `i`-th of 16 rows of the product
 * at step `k` is this ^ 32 * (i or k), the one that chunks run along, and rows further on. The
 * matrices that ldmatrix gives are first those of `rows` and then those of the depth, or the
 * other way round. */
INLINE int tile_lane(int across, int chunks, int first, int lane, int rows_first)
{
    const int j = lane / 8, row_half = rows_first ? j % 2 : j / 2,
              depth_half = rows_first ? j / 2 : j % 2;
    const int row = across ? depth_half * 8 + lane % 8 : first + row_half * 8 + lane % 8;
    const int c = across ? first / 8 + row_half : depth_half;
    return tile_place(chunks, row, c);
}

INLINE int tile_fragment(int across, int chunks, int at, int i, int k)
{
    return across ? (at ^ (32 * i)) + k * 16 * chunks * 16
                  : (at ^ (32 * k)) + i * 16 * chunks * 16;
}

INLINE void mma_clear(SUM (*acc)[NT][4])
{
    UNROLL
    for (int i = 0; i < MT; i++) {
        UNROLL
        for (int j = 0; j < NT; j++) {
            UNROLL
            for (int e = 0; e < 4; e++)
                acc[i][j][e] = 0;
        }
    }
}

/* The first row and column of block `block` of rows x columns blocks, of which those of `together`
 * rows, column by column, follow one another: what they read is then still in the cache. */
typedef struct tile_start {
    INDEX m, n;
} tile_start;

INLINE tile_start tile_start_of(int block, int rows, int columns, int together)
{
    const int group = block / (together * columns), within = block % (together * columns);
    const int high = MAX(1, MIN(together, rows - group * together));
    const tile_start at = {(INDEX)(group * together + within % high) * BM,
                           (INDEX)(within / high) * BN};
    return at;
}

/* The fragments of this warp at step `k` of a stage. */
INLINE void mma_load(u32 (*a)[4], u32 (*b)[2], LOCAL const byte *stage, int at_a, int at_b,
                     int k)
{
    UNROLL
    for (int i = 0; i < MT; i++) {
        LOCAL const byte *row = stage + tile_fragment(A_ACROSS, A_CHUNKS, at_a, i, k);
#if A_ACROSS
        ldmatrix_x4_trans(a[i], row);
#else
        ldmatrix_x4(a[i], row);
#endif
    }
    UNROLL
    for (int j = 0; j < NT; j += 2) {
        LOCAL const byte *row =
            stage + A_BYTES + tile_fragment(B_ACROSS, B_CHUNKS, at_b, j / 2, k);
#if B_ACROSS
        ldmatrix_x4_trans(b[j], row);
#else
        ldmatrix_x4(b[j], row);
#endif
    }
#if TF32
    UNROLL
    for (int i = 0; i < MT; i++) {
        UNROLL
        for (int e = 0; e < 4; e++)
            a[i][e] = tf32_of_float(a[i][e]);
    }
    UNROLL
    for (int j = 0; j < NT; j++) {
        UNROLL
        for (int e = 0; e < 2; e++)
            b[j][e] = tf32_of_float(b[j][e]);
    }
#endif
}

/* acc[MT][NT][4] += the product of `tiles` tiles; `pool` is STAGES * STAGE_BYTES of shared memory.
 * FILL(a, b) copies the next tile with cp_async words, all threads together. */
#define TILE_LOOP(pool, acc, tiles, FILL)                                                      \
    do {                                                                                       \
        const int ot_thread = THREAD_X, ot_warp = ot_thread / 32, ot_lane = ot_thread % 32;    \
        const int at_a = tile_lane(A_ACROSS, A_CHUNKS, ot_warp / WARPS_N * WM, ot_lane, 1);    \
        const int at_b = tile_lane(B_ACROSS, B_CHUNKS, ot_warp % WARPS_N * WN, ot_lane, 0);    \
        u32 ot_fa[2][MT][4], ot_fb[2][NT][2];                                                  \
        int ot_read = 0, ot_write = (STAGES - 1) * STAGE_BYTES;                                \
        UNROLL                                                                                 \
        for (int ot_s = 0; ot_s < STAGES - 1; ot_s++) {                                        \
            if (ot_s < (tiles))                                                                \
                FILL((pool) + ot_s * STAGE_BYTES, (pool) + ot_s * STAGE_BYTES + A_BYTES)       \
            cp_async_commit();                                                                 \
        }                                                                                      \
        CP_ASYNC_WAIT(STAGES - 2);                                                             \
        BARRIER();                                                                             \
        mma_load(ot_fa[0], ot_fb[0], pool, at_a, at_b, 0);                                     \
        UNROLL_BY(1)                                                                           \
        for (int ot_t = 0; ot_t < (tiles); ot_t++) {                                           \
            LOCAL byte *const ot_to = (pool) + ot_write;                                       \
            LOCAL const byte *const ot_from = (pool) + ot_read;                                \
            UNROLL                                                                             \
            for (int ot_k = 0; ot_k < STEPS - 1; ot_k++) {                                     \
                mma_load(ot_fa[(ot_k + 1) % 2], ot_fb[(ot_k + 1) % 2], ot_from, at_a, at_b,    \
                         ot_k + 1);                                                            \
                if (ot_k == 0) { /* behind what products wait for */                           \
                    if (ot_t + STAGES - 1 < (tiles))                                           \
                        FILL(ot_to, ot_to + A_BYTES)                                           \
                    cp_async_commit();                                                         \
                }                                                                              \
                MMA_TILE(MMA, MT, NT, acc, ot_fa[ot_k % 2], ot_fb[ot_k % 2]);                  \
            }                                                                                  \
            CP_ASYNC_WAIT(STAGES - 2);                                                         \
            BARRIER();                                                                         \
            ot_write = ot_read;                                                                \
            ot_read += STAGE_BYTES;                                                            \
            ot_read = ot_read == STAGES * STAGE_BYTES ? 0 : ot_read;                           \
            mma_load(ot_fa[0], ot_fb[0], (pool) + ot_read, at_a, at_b, 0);                     \
            MMA_TILE(MMA, MT, NT, acc, ot_fa[1], ot_fb[1]);                                    \
        }                                                                                      \
    } while (0)

/* Row and column within the block of sums d[0] and d[1] of product (i, j); d[2] and d[3] are 8
 * rows below. */
#define TILE_ROW(i) (THREAD_X / 32 / WARPS_N * WM + (i)*16 + THREAD_X % 32 / 4)
#define TILE_COL(j) (THREAD_X / 32 % WARPS_N * WN + (j)*8 + THREAD_X % 4 * 2)

#endif
