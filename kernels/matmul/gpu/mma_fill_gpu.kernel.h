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

/* A thread's copies of an operand, tile after tile of the depth: the chunk of the matrix where its
 * next tile begins, and which row and element that is. */
typedef struct tile_copies {
    GLOBAL const ELEM *from;
    INDEX row, col;
} tile_copies;

/* From row `row` and element `col` on, of rows of `cols` elements. */
INLINE tile_copies tile_copies_of(GLOBAL const ELEM *matrix, int chunks, INDEX row, INDEX col,
                                  INDEX cols)
{
    tile_copies next;
    next.row = row + THREAD_X / chunks;
    next.col = col + THREAD_X % chunks * EACH;
    next.from = matrix + ((i64)next.row * cols + next.col);
    return next;
}

/* The next tile, `count` rows of `chunks` chunks of a matrix of `rows` rows of `cols` elements.
 * Along the depth, columns are depth and rows beyond the end repeat the last. Where shapes divide,
 * a thread's chunks lie at constants from one address, in memory and in the tile. */
INLINE void fill_tile(tile_copies *next, LOCAL byte *to, int across, int count, int chunks,
                      INDEX rows, INDEX cols)
{
    const int step = THREADS / chunks, r0 = THREAD_X / chunks, c = THREAD_X % chunks;
    const bool whole =
        across ? rows % DEPTH == 0 && cols % (chunks * EACH) == 0 : cols % DEPTH == 0;
    LOCAL byte *const first = to + tile_place(chunks, r0, c);
    UNROLL
    for (int i = 0; i < CEIL_DIV(count, step); i++) {
        const int r = r0 + i * step;
        if (count % step == 0 || r < count) {
            INDEX down = i * step;
            int have = next->col < cols ? (int)MIN(cols - next->col, (INDEX)EACH) * SIZE : 0;
            if (across && next->row + down >= rows)
                have = 0;
            if (!across && rows % count)
                down = MIN(down, rows - 1 - next->row);
            copy_chunk(step % TILE_PERIOD == 0 ? first + i * step * chunks * 16
                                               : to + tile_place(chunks, r, c),
                       next->from + down * cols, have, whole);
        }
    }
    if (across) {
        next->row += count;
        next->from += (INDEX)count * cols;
    } else {
        next->col += DEPTH;
        next->from += DEPTH;
    }
}

#endif
