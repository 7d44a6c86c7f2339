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

/*
 * Rows lie along the input, columns along the output; `i` numbers what is outside. A tile has TR of
 * TC elements. A thread loads PACK words of PACK neighbours in the input at a time, turns them over
 * and keeps them as words of neighbours in the output: in shared memory these are rows of one word
 * more than a row of the output has, those whose numbers are equal modulo PACK next to each other,
 * so that neither side meets in banks. All threads walk down the tile, `width` beside each other,
 * from one pointer each on; tiles that fill both loops are not asked where they end.
 */
#define TILES(first, end, rows, cols, tr, tc, width, height, start, ...)                       \
    if (block >= first && block < end) {                                                       \
        const INDEX n = (INDEX)(block - first);                                                \
        const INDEX i = n / (CEIL_DIV(rows, tr) * CEIL_DIV(cols, tc));                         \
        const INDEX c0 = n % CEIL_DIV(cols, tc) * (tc);                                        \
        const INDEX r0 = n / CEIL_DIV(cols, tc) % CEIL_DIV(rows, tr) * (tr);                   \
        const int tx = THREAD_X % (width), ty = THREAD_X / (width);                            \
        start;                                                                                 \
        UNROLL_BY(16)                                                                          \
        for (int s = 0; s < CEIL_DIV((width) * (height), THREADS); s++) {                      \
            const int dx = s % TURNS(width) * THREADS;                                         \
            const int dy = s / TURNS(width) * ABREAST(width);                                  \
            if (WITHIN(ty + dy, height, ABREAST(width))) {                                     \
                __VA_ARGS__                                                                    \
            }                                                                                  \
        }                                                                                      \
    }
/* Steps for a row that is longer than a block, and rows that a block has at once. */
#define TURNS(width) MAX(1, (width) / THREADS)
#define ABREAST(width) MAX(1, THREADS / (width))
#define WITHIN(at, length, tile) ((length) % (tile) == 0 || (at) < (length))
#define WORD_OF(pack) WORD##pack
#define LOAD(first, end, in, from, rows, cols, step, tr, tc, pack)                             \
    TILES(                                                                                     \
        first, end, rows, cols, tr, tc, (tr) / (pack), (tc) / (pack),                          \
        const INDEX r = r0 + tx * (pack); const INDEX c = c0 + ty * (pack);                    \
        GLOBAL const ELEMENT *const p = in + (from + r + c * (INDEX)(step));                   \
        LOCAL WORD_OF(pack) *const to =                                                        \
            (LOCAL WORD_OF(pack) *)pool + tx * ((tc) / (pack) + 1) + ty,                       \
        if (WITHIN(r + dx * (pack), rows, tr) && WITHIN(c + dy * (pack), cols, tc)) {          \
            WORD_OF(pack) word[pack];                                                          \
            UNROLL                                                                             \
            for (int j = 0; j < (pack); j++)                                                   \
                word[j] = *(GLOBAL const WORD_OF(pack) *)(p + dx * (pack) +                    \
                                                          (i64)(dy * (pack) + j) * (step));    \
            UNROLL                                                                             \
            for (int k = 0; k < (pack); k++) {                                                 \
                WORD_OF(pack) turned = 0;                                                      \
                UNROLL                                                                         \
                for (int j = 0; j < (pack); j++)                                               \
                    turned |= (WORD_OF(pack))(ELEMENT)(word[j] >> k * BITS) << j * BITS;       \
                to[(k * ((tr) / (pack)) + dx) * ((tc) / (pack) + 1) + dy] = turned;            \
            }                                                                                  \
        })
#define STORE(first, end, to, rows, cols, step, tr, tc, pack)                                  \
    TILES(                                                                                     \
        first, end, rows, cols, tr, tc, (tc) / (pack), tr, const INDEX r = r0 + ty;            \
        const INDEX c = c0 + tx * (pack);                                                      \
        GLOBAL ELEMENT *const p = out + (to + r * (INDEX)(step) + c);                          \
        LOCAL const WORD_OF(pack) *const from = (LOCAL const WORD_OF(pack) *)pool + tx,        \
        const int y = ty + dy;                                                                 \
        if (WITHIN(r + dy, rows, tr) && WITHIN(c + dx * (pack), cols, tc))                     \
            *(GLOBAL WORD_OF(pack) *)(p + dx * (pack) + (i64)dy * (step)) =                    \
                from[(y % (pack) * ((tr) / (pack)) + y / (pack)) * ((tc) / (pack) + 1) + dx];)

KERNEL(THREADS, 1, 1)
move(GLOBAL ELEMENT *RESTRICT out TIMES(INPUTS, INPUT))
{
#if TILE
    SHARED(pool, POOL_BYTES);
#endif
    const int block = BLOCK_X;
    TIMES(PIECES, PIECE_OF)
#if TILE
    BARRIER();
    TIMES(PIECES, STORE_OF)
#endif
}
