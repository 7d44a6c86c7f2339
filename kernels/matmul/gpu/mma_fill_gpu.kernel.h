/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a tile for tensor cores (kernels/matmul/gpu/mma_tile_gpu.kernel.h) is copied from a matrix in
 * memory. Rows that are not of 16 aligned bytes are copied in pieces of COPY bytes, below 4 through
 * registers.
 *
 * Macros beside the tile's: ELEM, SIZE of it, DEPTH (elements in KB), COPY, INDEX.
 */
#ifndef OPTUNE_KERNELS_MATMUL_MMA_FILL_GPU_H
#define OPTUNE_KERNELS_MATMUL_MMA_FILL_GPU_H

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

#endif
