/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of matrix products by tensor cores, for dense and batch_matmul: out[b,m,n] = sum over
 * k of a[b,m,k] * b[b,n,k], plus bias[n]. Blocks are numbered so that GROUP rows of them are
 * finished together and what they read stays in the L2. With SPLITS > 1 each computes a part of
 * the depth into `partial`, which the stage `finish` adds up in order.
 *
 * Edges: rows of the output beyond its end repeat its last row and are never stored; depth
 * beyond its end is filled with zeros. Where the shape divides, the conditions are constants
 * and vanish. Rows that are not of 16 aligned bytes are copied in pieces of COPY bytes, below 4
 * through registers.
 *
 * Macros beside the tile's and those of kernels/matmul/gpu/product_gpu.kernel.h: N K A_SHARED
 * B_SHARED (one matrix for all batches), ELEM, SIZE of it, DEPTH (elements in KB), COPY, GROUP,
 * OUT OUT_BYTES, ROUND, PAIR (of 16 bits), INDEX. Blocks beyond the batches and rows that come
 * at run time do nothing.
 */
#include "kernels/matmul/gpu/mma_tile_gpu.kernel.h"
#include "kernels/matmul/gpu/product_gpu.kernel.h"

#define ALL_ROWS ((INDEX)ROWS)
#define BLOCKS_N CEIL_DIV(N, BN)
#define TILES CEIL_DIV(K, DEPTH)
#define PART_TILES CEIL_DIV(TILES, SPLITS)
#define EACH (16 / SIZE) /* elements of a chunk */

/* 16 bytes, the first `have` of them from memory. */
INLINE void copy_chunk(LOCAL byte *to, GLOBAL const ELEM *from, int have, bool whole)
{
#if COPY == 16
    if (whole)
        cp_async_16(to, from);
    else
        cp_async_16_zero(to, from, have > 0 ? 16 : 0); /* rows are of whole chunks */
#elif COPY == 8
    UNROLL
    for (int i = 0; i < 16; i += 8)
        cp_async_8_zero(to + i, from + i / SIZE, whole || have > i ? 8 : 0);
#elif COPY == 4
    UNROLL
    for (int i = 0; i < 16; i += 4)
        cp_async_4_zero(to + i, from + i / SIZE, whole || have > i ? 4 : 0);
#else
    UNROLL
    for (int i = 0; i < EACH; i++)
        ((LOCAL ELEM *)to)[i] = whole || have > i * SIZE ? from[i] : 0;
#endif
}

/* A tile of `count` rows of `chunks` chunks, from row `row` and element `col` on, of a matrix
 * of `rows` rows of `cols` elements. Along the depth, columns are depth and rows beyond the end
 * repeat the last. */
INLINE void fill_tile(LOCAL byte *to, GLOBAL const ELEM *RESTRICT from, int across, int count,
                      int chunks, INDEX row, INDEX rows, INDEX col, INDEX cols)
{
    const int step = THREADS / chunks, r0 = THREAD_X / chunks, c = THREAD_X % chunks;
    const INDEX at = col + c * EACH;
    const bool whole =
        across ? rows % DEPTH == 0 && cols % (chunks * EACH) == 0 : cols % DEPTH == 0;
    UNROLL
    for (int i = 0; i < CEIL_DIV(count, step); i++) {
        const int r = r0 + i * step;
        if (count % step == 0 || r < count) {
            INDEX m = row + r;
            int have = at < cols ? (int)MIN(cols - at, (INDEX)EACH) * SIZE : 0;
            if (across && m >= rows)
                have = 0;
            if (!across && rows % count && m >= rows)
                m = rows - 1;
            copy_chunk(to + tile_place(chunks, r, c), from + m * cols + at, have, whole);
        }
    }
}

#if A_ACROSS
#define FILL_A(to, k) fill_tile(to, a, 1, DEPTH, A_CHUNKS, k, K, m0, M);
#else
#define FILL_A(to, k) fill_tile(to, a, 0, BM, A_CHUNKS, m0, rows, k, K);
#endif
#if B_ACROSS
#define FILL_B(to, k) fill_tile(to, b, 1, DEPTH, B_CHUNKS, k, K, n0, N);
#else
#define FILL_B(to, k) fill_tile(to, b, 0, BN, B_CHUNKS, n0, N, k, K);
#endif
#define FILL(to_a, to_b, t)                                                                    \
    {                                                                                          \
        FILL_A(to_a, (INDEX)(first + (t)) * DEPTH)                                             \
        FILL_B(to_b, (INDEX)(first + (t)) * DEPTH)                                             \
    }

/* What a block stores: outputs, or sums of a part of the depth. */
#if SPLITS > 1
#define STORED SUM
#define STORED_BYTES 4
#else
#define STORED OUT
#define STORED_BYTES OUT_BYTES
#endif

#include "kernels/matmul/gpu/mma_run_gpu.kernel.h"

#define WIDE (N * STORED_BYTES % 16 == 0 && RUN_FITS)

/* v[RUN][2] of a row, from column n of the first product on. */
INLINE void store_run(GLOBAL STORED *RESTRICT out, INDEX rows, INDEX m, INDEX n, SUM (*v)[2])
{
#if WIDE
    run x;
    n += run_of(&x, v);
    if (m < rows && n < N)
        STORE_VECTOR((GLOBAL run *)(out + m * N + n), x);
#else
    UNROLL
    for (int r = 0; r < RUN; r++) {
        const INDEX at = n + r * 8 + THREAD_X % 4 * 2;
#if SPLITS > 1
        const pair both = {{v[r][0], v[r][1]}};
#else
        const pair both = {{ROUND(v[r][0]), ROUND(v[r][1])}};
#endif
        if (m < rows && at < N) {
            if (N % 2 == 0) {
                *(GLOBAL pair *)(out + m * N + at) = both;
            } else {
                out[m * N + at] = both.v[0];
                if (at + 1 < N)
                    out[m * N + at + 1] = both.v[1];
            }
        }
    }
#endif
}

#if BIAS
#define BIAS_AT(n) ((n) < N ? VALUE(bias[n]) : (SUM)0)
#else
#define BIAS_AT(n) ((SUM)0)
#endif

KERNEL(THREADS, 1, 1)
product(GLOBAL const ELEM *RESTRICT a, GLOBAL const ELEM *RESTRICT b,
        GLOBAL STORED *RESTRICT out PRODUCT_PARAMETERS(OUT))
{
    SHARED(pool, STAGES * STAGE_BYTES);
    const int batch = BLOCK_Z / SPLITS, part = BLOCK_Z % SPLITS;
    const int group = BLOCK_X / (GROUP * BLOCKS_N), within = BLOCK_X % (GROUP * BLOCKS_N);
    const int high = MAX(1, MIN(GROUP, (int)CEIL_DIV(ALL_ROWS, BM) - group * GROUP));
    const INDEX m0 = (INDEX)(group * GROUP + within % high) * BM;
    const INDEX n0 = (INDEX)(within / high) * BN;
    const INDEX rows = B_VARIES && batch >= BATCHES ? 0 : ALL_ROWS;
    const bool idle = (M_VARIES || B_VARIES) && (m0 >= rows || n0 >= N);
    const int first = part * PART_TILES, tiles = idle ? 0 : MIN(PART_TILES, TILES - first);
    SUM acc[MT][NT][4];
    UNROLL
    for (int i = 0; i < MT; i++) {
        UNROLL
        for (int j = 0; j < NT; j++) {
            UNROLL
            for (int e = 0; e < 4; e++)
                acc[i][j][e] = 0;
        }
    }
    a += A_SHARED ? 0 : (i64)batch * ALL_ROWS * K;
    b += B_SHARED ? 0 : (i64)batch * N * K;
    TILE_LOOP(pool, acc, tiles, FILL);

#if SPLITS > 1
    out += (i64)BLOCK_Z * M * N;
#else
    out += (i64)batch * ALL_ROWS * N;
#endif
    UNROLL
    for (int j = 0; j < NT; j += RUN) {
        const INDEX n0_run = n0 + TILE_COL(j) - THREAD_X % 4 * 2;
#if SPLITS == 1
        SUM more[RUN][2];
        UNROLL
        for (int c = 0; c < RUN * 2; c++)
            more[c / 2][c % 2] = BIAS_AT(n0 + TILE_COL(j + c / 2) + c % 2);
#endif
        UNROLL
        for (int i = 0; i < MT; i++) {
            UNROLL
            for (int e = 0; e < 4; e += 2) {
                const INDEX m = m0 + TILE_ROW(i) + 4 * e;
                SUM v[RUN][2];
                UNROLL
                for (int c = 0; c < RUN * 2; c++) {
                    v[c / 2][c % 2] = acc[i][j + c / 2][e + c % 2];
#if SPLITS == 1
                    v[c / 2][c % 2] += more[c / 2][c % 2];
                    const INDEX n = n0 + TILE_COL(j + c / 2) + c % 2;
                    if (EPILOGUE && m < rows && n < N) {
                        const INDEX o = (INDEX)batch * ALL_ROWS * N + m * N + n;
                        EPILOGUE_APPLY(v[c / 2][c % 2], o)
                    }
#endif
                }
                store_run(out, rows, m, n0_run, v);
            }
        }
    }
}

#if SPLITS > 1
enum { FINISH_THREADS = 256 };

KERNEL(FINISH_THREADS, 1, 1)
finish(GLOBAL const SUM *RESTRICT partial, GLOBAL OUT *RESTRICT out OUTPUT_PARAMETERS(OUT))
{
    const i64 at = (i64)BLOCK_X * FINISH_THREADS + THREAD_X, plane = (i64)ALL_ROWS * N;
    if (at < BATCHES * plane) {
        const i64 batch = at / plane, within = at % plane;
        SUM sum = 0;
        UNROLL
        for (int s = 0; s < SPLITS; s++)
            sum += partial[(batch * SPLITS + s) * ((i64)M * N) + within];
#if BIAS
        sum += VALUE(bias[within % N]);
#endif
        EPILOGUE_APPLY(sum, at)
        out[at] = ROUND(sum);
    }
}
#endif
