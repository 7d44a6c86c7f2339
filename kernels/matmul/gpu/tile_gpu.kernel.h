/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The register tile of GPU products: what a thread does with two tiles that lie in shared
 * memory, depth first: a[BK][LDA] holds BM rows, b[BK][LDB] holds BN columns. It stages nothing
 * and knows neither where the tiles come from nor where the sums go, so dense products,
 * convolutions and winograd share it. Macros: DTYPE BM BN BK TM TN CM CN UNROLL_K LDA LDB. A
 * body that lays its tiles out in another way defines where depth k of each begins (TILE_A_AT,
 * TILE_B_AT), one whose threads share the depth of a tile how much of it is a thread's
 * (TILE_DEPTH), and one whose elements are words of several numbers how such are multiplied
 * (TILE_FMA).
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
#ifndef TILE_FMA
#define TILE_FMA(a, b, c) FMA(a, b, c)
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

/* Where a body lays columns out itself, a thread may have `run` neighbours of them, a multiple of
 * CN and a divisor of TN: the first of its column j, and which column lies at a place of the
 * tile. */
#define TILE_RUN_COL(j, tx, run) ((tx) * (run) + (j) / (run) * (run)*TX + (j) % (run))
#define TILE_RUN_PLACED(at, run)                                                               \
    ((at) / BN * BN + (at) % (CN * TX) / CN * (run) +                                          \
     (at) % BN / (CN * TX) / ((run) / CN) * ((run)*TX) +                                       \
     (at) % BN / (CN * TX) % ((run) / CN) * CN + (at) % CN)

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

/* Steps of depth that fragments are loaded ahead of their use, 0: none. Small tiles have more
 * threads instead, and what OpenCL is compiled for needs none. */
#ifndef TILE_AHEAD
#define TILE_AHEAD                                                                             \
    (OT_CC == 0 || sizeof(DTYPE) > 4 || TM * TN < 64 || TILE_DEPTH % 4 ? 0                     \
     : TM * TN < 128                                                   ? 2                     \
                                                                       : 1)
#endif

#define TILE_LOAD(v, from)                                                                     \
    do {                                                                                       \
        if (TILE_AHEAD)                                                                        \
            LOAD_IN_ORDER(v, from);                                                            \
        else                                                                                   \
            (v) = *(from);                                                                     \
    } while (0)

/* What a thread multiplies at depth k: TM of the rows, TN of the columns. */
INLINE void tile_load_rows(DTYPE ra[TM], LOCAL const DTYPE *a, int k, int ty)
{
    UNROLL
    for (int i = 0; i < TM; i += CM) {
        tile_rows v;
        TILE_LOAD(v, (LOCAL const tile_rows *)(a + TILE_A_AT(k) + TILE_ROW(i, ty)));
        UNROLL
        for (int c = 0; c < CM; c++)
            ra[i + c] = v.v[c];
    }
}

INLINE void tile_load_cols(DTYPE rb[TN], LOCAL const DTYPE *b, int k, int tx)
{
    UNROLL
    for (int j = 0; j < TN; j += CN) {
        tile_cols v;
        TILE_LOAD(v, (LOCAL const tile_cols *)(b + TILE_B_AT(k) + TILE_COL(j, tx)));
        UNROLL
        for (int c = 0; c < CN; c++)
            rb[j + c] = v.v[c];
    }
}

/* One operand, of float32, may lie as quads (QUAD_ROWS or QUAD_COLS is 1): its tile is
 * [BK / 4][chunk][rows / chunk + 4 / chunk] vectors of four depths of a row, which come so from
 * memory where operands lie row by row; chunk: CM or CN, and row r is at r % chunk, r / chunk. So
 * neighbouring threads, whose rows are a chunk apart, read neighbouring vectors, and eight threads
 * that write two vectors of four rows each meet on no bank. Both operands so would have each
 * multiply-add read two registers of one bank. */
#ifndef QUAD_ROWS
#define QUAD_ROWS 0
#endif
#ifndef QUAD_COLS
#define QUAD_COLS 0
#endif
#define QUAD_LINE(rows, chunk) ((rows) / (chunk) + 4 / (chunk))
#define QUAD_AT(q, rows, chunk) ((q) * (chunk)*QUAD_LINE(rows, chunk))

/* acc += their products, where fragments come ahead all of the narrower side by a vector of the
 * wider one after the other. With quads every second row goes the other way round: what one row
 * ends with the next begins with, so that it is still at hand. */
INLINE void tile_add(const DTYPE ra[TM], const DTYPE rb[TN], DTYPE acc[TM][TN])
{
    const int cols = TILE_AHEAD && TN > TM ? CN : TN;
    UNROLL
    for (int first = 0; first < TN; first += cols) {
        UNROLL
        for (int i = 0; i < TM; i++) {
            UNROLL
            for (int c = 0; c < cols; c++) {
                const int back = (QUAD_ROWS || QUAD_COLS) && i % 2;
                const int j = first + (back ? cols - 1 - c : c);
                acc[i][j] = TILE_FMA(ra[i], rb[j], acc[i][j]);
            }
        }
    }
}

/* acc += the product over TILE_DEPTH of depth. */
INLINE void tile_multiply(LOCAL const DTYPE *a, LOCAL const DTYPE *b, int ty, int tx,
                          DTYPE acc[TM][TN])
{
    UNROLL_BY(UNROLL_K)
    for (int k = 0; k < TILE_DEPTH; k++) {
        DTYPE ra[TM], rb[TN];
        tile_load_rows(ra, a, k, ty);
        tile_load_cols(rb, b, k, tx);
        tile_add(ra, rb, acc);
    }
}

/* ---- fragments ahead of their use ---------------------------------------------------------
 *
 * The same where fragments are loaded TILE_AHEAD steps of depth before they are multiplied, across
 * tiles, too. A pipeline (TILE_PIPELINE below) goes through these in turns.
 */
#define TILE_SLOTS (TILE_AHEAD > 1 ? 4 : 2)
/* Steps that are straight code: tiles are skewed between four steps and the next. */
#define TILE_CHUNK MIN(TILE_DEPTH, MAX(UNROLL_K, 4))

VECTOR(quad, DTYPE, 4);

typedef struct tile_fragments {
    DTYPE a[TILE_SLOTS][TM], b[TILE_SLOTS][TN];
    quad rows[2][QUAD_ROWS ? TM : 1], cols[2][QUAD_COLS ? TN : 1];
} tile_fragments;

/* Depths k .. k + 3 of a thread's rows of a tile of quads: `count` of them in chunks that are
 * `apart` others away; `from` is where the tile begins plus a vector of 16 bytes for each thread
 * before. */
INLINE void quads_load(quad *to, LOCAL const DTYPE *from, const int k, const int count,
                       const int rows, const int chunk, const int apart)
{
    UNROLL
    for (int i = 0; i < count; i++)
        TILE_LOAD(to[i], (LOCAL const quad *)from + QUAD_AT(k / 4, rows, chunk) +
                             i % chunk * QUAD_LINE(rows, chunk) + i / chunk * apart);
}

/* Into place `slot`. Compilers spread loads over the arithmetic before: the first are those that
 * are needed first, all of the narrower side. */
INLINE void tile_load(tile_fragments *f, const int slot, LOCAL const DTYPE *a,
                      LOCAL const DTYPE *b, int k)
{
    if (QUAD_ROWS && k % 4 == 0)
        quads_load(f->rows[k / 4 % 2], a, k, TM, BM, CM, TY);
    if (!QUAD_ROWS && TN > TM)
        tile_load_rows(f->a[slot], a, k, 0);
    if (QUAD_COLS && k % 4 == 0)
        quads_load(f->cols[k / 4 % 2], b, k, TN, BN, CN, TX);
    if (!QUAD_COLS)
        tile_load_cols(f->b[slot], b, k, 0);
    if (!QUAD_ROWS && TN <= TM)
        tile_load_rows(f->a[slot], a, k, 0);
}

/* acc += the products of step k, whose fragments are there. */
INLINE void tile_add_step(const tile_fragments *f, const int k, DTYPE acc[TM][TN])
{
    DTYPE a[TM], b[TN];
    UNROLL
    for (int i = 0; i < TM; i++)
        a[i] = QUAD_ROWS ? f->rows[k / 4 % 2][QUAD_ROWS ? i : 0].v[k % 4]
                         : f->a[k % TILE_SLOTS][i];
    UNROLL
    for (int j = 0; j < TN; j++)
        b[j] = QUAD_COLS ? f->cols[k / 4 % 2][QUAD_COLS ? j : 0].v[k % 4]
                         : f->b[k % TILE_SLOTS][j];
    tile_add(a, b, acc);
}

/* Of the first steps of a tile. */
INLINE void tile_begin(tile_fragments *f, LOCAL const DTYPE *a, LOCAL const DTYPE *b)
{
    UNROLL
    for (int k = 0; k < TILE_AHEAD; k++)
        tile_load(f, k, a, b, k);
}

INLINE void tile_step(tile_fragments *f, LOCAL const DTYPE *a, LOCAL const DTYPE *b,
                      const int k, DTYPE acc[TM][TN])
{
    tile_load(f, (k + TILE_AHEAD) % TILE_SLOTS, a, b, k + TILE_AHEAD);
    tile_add_step(f, k, acc);
}

/* All but the last TILE_AHEAD steps; behind it the tile is read. */
INLINE void tile_most(tile_fragments *f, LOCAL const DTYPE *a, LOCAL const DTYPE *b,
                      DTYPE acc[TM][TN])
{
    UNROLL_BY(1)
    for (int k = 0; k != TILE_DEPTH - TILE_CHUNK; k += TILE_CHUNK) {
        UNROLL
        for (int c = 0; c < TILE_CHUNK; c++)
            tile_step(f, a, b, c, acc);
        a += TILE_A_AT(TILE_CHUNK);
        b += TILE_B_AT(TILE_CHUNK);
    }
    UNROLL
    for (int c = 0; c < TILE_CHUNK - TILE_AHEAD; c++)
        tile_step(f, a, b, c, acc);
}

/* The others but one. */
INLINE void tile_rest(const tile_fragments *f, DTYPE acc[TM][TN])
{
    UNROLL
    for (int k = TILE_DEPTH - TILE_AHEAD; k < TILE_DEPTH - 1; k++)
        tile_add_step(f, k, acc);
}

/* That one. */
INLINE void tile_last(const tile_fragments *f, DTYPE acc[TM][TN])
{
    tile_add_step(f, TILE_DEPTH - 1, acc);
}

/* acc += the product of `count` tiles, which the body fetches into registers, FETCH_TILES(s, on)
 * where `on`, and puts into shared memory from there, STORE_TILES(to): STAGES of them at `tile`,
 * `size` elements apart, of which a thread multiplies what lies at `a0` and `b0`. A fetch is under
 * way while a whole tile is multiplied: it stands in front of a barrier, where compilers leave it.
 * Behind the last tile what registers still hold is stored once more, and where `again`, fragments
 * are loaded that nobody multiplies. Compilers are not told how many tiles there are: they would
 * write some of them out. */
#define TILE_PIPELINE(count, tile, size, a0, b0, again, ty, tx, acc)                           \
    {                                                                                          \
        const int ot_a = (a0) + (ty)*CM, ot_b = (b0) + (tx)*CN;                                \
        LOCAL DTYPE *ot_to = (tile);                                                           \
        int ot_count = (count);                                                                \
        tile_fragments ot_f;                                                                   \
        OPAQUE_INT(ot_count);                                                                  \
        if (ot_count > 0) {                                                                    \
            FETCH_TILES(0, true)                                                               \
            STORE_TILES(ot_to)                                                                 \
        }                                                                                      \
        FETCH_TILES(1, ot_count > 1)                                                           \
        BARRIER();                                                                             \
        if (ot_count > 0)                                                                      \
            tile_begin(&ot_f, ot_to + ot_a, ot_to + ot_b);                                     \
        UNROLL_BY(1)                                                                           \
        for (int ot_s = 0; ot_s < ot_count; ot_s++) {                                          \
            tile_most(&ot_f, ot_to + ot_a, ot_to + ot_b, acc);                                 \
            if (STAGES == 1)                                                                   \
                BARRIER();                                                                     \
            tile_rest(&ot_f, acc);                                                             \
            if (STAGES > 1)                                                                    \
                ot_to = (tile) + (ot_s + 1) % STAGES * (size);                                 \
            STORE_TILES(ot_to)                                                                 \
            FETCH_TILES(ot_s + 2, ot_s + 2 < ot_count)                                         \
            BARRIER();                                                                         \
            if ((again) || ot_s + 1 < ot_count)                                                \
                tile_begin(&ot_f, ot_to + ot_a, ot_to + ot_b);                                 \
            tile_last(&ot_f, acc);                                                             \
        }                                                                                      \
    }

/* acc += the product of `count` tiles, at least one, with fragments ahead or without: the a of a
 * tile lies in front, its b BK * BM elements behind; the rest as in TILE_PIPELINE. */
#define TILE_PRODUCT(count, tile, size, thread_y, thread_x, acc)                               \
    if (TILE_AHEAD) {                                                                          \
        TILE_PIPELINE(count, tile, size, 0, BK *BM, true, thread_y, thread_x, acc)             \
    } else {                                                                                   \
        FETCH_TILES(0, true)                                                                   \
        UNROLL_BY(1)                                                                           \
        for (int ot_s = 0; ot_s < (count); ot_s++) {                                           \
            LOCAL DTYPE *const ot_now = (tile) + ot_s % STAGES * (size);                       \
            if (STAGES == 1) /* with two, the barrier before says that this one is read */     \
                BARRIER();                                                                     \
            STORE_TILES(ot_now)                                                                \
            BARRIER();                                                                         \
            FETCH_TILES(ot_s + 1, ot_s + 1 < (count))                                          \
            tile_multiply(ot_now, ot_now + BK * BM, thread_y, thread_x, acc);                  \
        }                                                                                      \
    }

#endif
