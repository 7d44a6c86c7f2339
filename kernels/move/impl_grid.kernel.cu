/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel `move` of both GPU bodies. A block finds the piece it belongs to by its number.
 * Tiles are loaded before the one barrier, which all threads meet whatever their piece is, and
 * stored behind it.
 */
#include "kernels/common/gpu.kernel.h"
#include "kernels/common/times.kernel.h"

VECTOR(vec1, ELEMENT, 1);
VECTOR(vec2, ELEMENT, 2);
VECTOR(vec4, ELEMENT, 4);
VECTOR(vec8, ELEMENT, 8);
VECTOR(vec16, ELEMENT, 16);

#define INPUT(k) , GLOBAL const ELEMENT *RESTRICT in##k
#define PIECE_OF(k) PIECE##k
#define STORE_OF(k) STORE##k

/* Each thread EACH vectors of V elements, a block's width apart; `i` numbers elements. */
#define EVERY(first, end, v, items, ...)                                                       \
    if (block >= first && block < end) {                                                       \
        UNROLL                                                                                 \
        for (int e = 0; e < EACH; e++) {                                                       \
            const INDEX c = ((INDEX)(block - first) * EACH + e) * THREADS + THREAD_X;          \
            const INDEX i = c * v;                                                             \
            if (c < items) {                                                                   \
                __VA_ARGS__                                                                    \
            }                                                                                  \
        }                                                                                      \
    }
/* All loads of a thread are on their way before its first store. */
#define ROWS(first, end, in, from, to, v, items)                                               \
    if (block >= first && block < end) {                                                       \
        vec##v held[EACH];                                                                     \
        EVERY(first, end, v, items, held[e] = *(GLOBAL const vec##v *)(in + from);)            \
        EVERY(first, end, v, items, STORE_VECTOR((GLOBAL vec##v *)(out + to), held[e]);)       \
    }
#define FILL(first, end, bits, to, width, items)                                               \
    EVERY(first, end, width, items, vec##width same;                                           \
          for (int l = 0; l < width; l++) same.v[l] = (ELEMENT)bits;                           \
          *(GLOBAL vec##width *)(out + to) = same;)

/* Rows lie along the input, columns along the output; `i` numbers what is outside. A thread walks
 * down the tile from one pointer on; tiles that fill both loops are not asked where they end. */
#define TILES(first, end, rows, cols, start, ...)                                              \
    if (block >= first && block < end) {                                                       \
        const INDEX n = (INDEX)(block - first), i = n / (ROW_TILES(rows) * COL_TILES(cols));   \
        const INDEX c0 = n % COL_TILES(cols) * TILE;                                           \
        const INDEX r0 = n / COL_TILES(cols) % ROW_TILES(rows) * TILE;                         \
        start;                                                                                 \
        UNROLL_BY(16)                                                                          \
        for (int y = 0; y < TILE; y += THREADS / TILE) {                                       \
            __VA_ARGS__                                                                        \
        }                                                                                      \
    }
#define WITHIN(at, length) ((length) % TILE == 0 || (at) < (length))
#define LOAD(first, end, in, from, rows, cols, step)                                           \
    TILES(                                                                                     \
        first, end, rows, cols,                                                                \
        GLOBAL const ELEMENT *const p = in + (from + r0 + tx + (c0 + ty) * (INDEX)(step));     \
        LOCAL ELEMENT *const to = tile + ty * (TILE + 1) + tx,                                 \
        if (WITHIN(r0 + tx, rows) && WITHIN(c0 + ty + y, cols)) {                              \
            to[y * (TILE + 1)] = p[(i64)y * (step)];                                           \
        })
#define STORE(first, end, to, rows, cols, step)                                                \
    TILES(                                                                                     \
        first, end, rows, cols,                                                                \
        GLOBAL ELEMENT *const p = out + (to + (r0 + ty) * (INDEX)(step) + c0 + tx);            \
        LOCAL const ELEMENT *const from = tile + tx * (TILE + 1) + ty,                         \
        if (WITHIN(r0 + ty + y, rows) && WITHIN(c0 + tx, cols)) {                              \
            p[(i64)y * (step)] = from[y];                                                      \
        })
#define ROW_TILES(rows) CEIL_DIV(rows, TILE)
#define COL_TILES(cols) CEIL_DIV(cols, TILE)

KERNEL(THREADS, 1, 1)
move(GLOBAL ELEMENT *RESTRICT out TIMES(INPUTS, INPUT))
{
#if TILE
    SHARED(pool, TILE * (TILE + 1) * sizeof(ELEMENT));
    LOCAL ELEMENT *const tile = (LOCAL ELEMENT *)pool;
    const int tx = THREAD_X % TILE, ty = THREAD_X / TILE;
#endif
    const int block = BLOCK_X;
    TIMES(PIECES, PIECE_OF)
#if TILE
    BARRIER();
    TIMES(PIECES, STORE_OF)
#endif
}
