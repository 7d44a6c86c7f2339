/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices in blocks of tiles, whose sums become the output while the next block is
 * multiplied. Macros from the plan: M N, BIAS, PACK_DATA (rows are put together 16 by 16, KS steps
 * of 16 words each, with zeros behind them), ROWS_FIRST (a block of rows meets all panels before
 * the next one does, where that is said), those of kernels/matmul/tiles.kernel.h. A stage's
 * argument 2 is the output.
 */
#ifndef OPTUNE_KERNELS_MATMUL_BLOCKS_H
#define OPTUNE_KERNELS_MATMUL_BLOCKS_H

#include "kernels/matmul/tiles.kernel.h"

#ifndef ROWS_FIRST
#define ROWS_FIRST 0
#endif
#define PANELS CEIL_DIV(N, DOT_NR)
#define BLOCKS CEIL_DIV(M, TILE_ROWS)
#define LAST_ROWS (M - (BLOCKS - 1) * TILE_ROWS)
#define KS CEIL_DIV(K_WORDS, 16)
#define STEP_WORDS (16 * DOT_NR) /* of a panel */
#undef PANEL_WORDS
#define PANEL_WORDS (KS * STEP_WORDS)

/* How far the words of the next row are, of the next step, and of the next 16 rows. */
#if PACK_DATA
#define A_ROW 16
#define A_STEP (256 * (1 + DOT_SPLIT))
#define A_TILE (A_STEP * KS)
#else
#define A_ROW K_WORDS
#define A_STEP 16
#define A_TILE (16 * K_WORDS)
#endif

#if PACK_DATA
/* Row i of the data, to the tiles [M / 16][KS][16][16], with halves exchanged behind each. */
INLINE void pack_row(u32 *packed, i64 i, const IN_T *row)
{
    u32 *to = packed + i / 16 * A_TILE + i % 16 * A_ROW;
    for (i64 s = 0; s < KS; s++, to += A_STEP) {
        if ((s + 1) * 16 * WORD <= K)
            *(words_at *)to = dot_words(row, s * 16);
        else
            for (i64 k = s * 16; k < (s + 1) * 16; k++)
                to[k - s * 16] = k < K_WORDS ? dot_word(row, k) : 0;
        if (DOT_SPLIT)
            *(words_at *)(to + 256) = dot_exchanged(*(const words_at *)to);
    }
}
#endif

/* A block whose sums are made and not yet the output: that is done between the steps of the next
 * one, as vectors have little to do while tiles are multiplied. */
struct pending {
    const DTYPE *sums; /* [rows][DOT_NR] */
    const OUT_T *bias;
    void *const *arg;
    i64 o, cols;
    int rows;
};

/* Rows `from` to `to` of it. */
static __attribute__((noinline)) void finish(const struct pending *w, int from, int to)
{
    OUT_T *out = w->arg[2];
    for (int i = from; i < MIN(to, w->rows); i++)
        for (int j = 0; j < DOT_NR && j < w->cols; j += VLEN) {
            const DTYPE *sums = w->sums + i * DOT_NR + j;
            const i64 o = w->o + i * N + j;
            if (N % VLEN == 0 || j + VLEN <= w->cols)
                dot_store(out, o, load(sums), BIAS ? w->bias + j : 0, VLEN, w->arg);
            else
                dot_store(out, o, load(sums), BIAS ? w->bias + j : 0, N % VLEN, w->arg);
        }
}

#define FINISH_ROWS CEIL_DIV(TILE_ROWS, KS) /* between two steps */
/* The sums of `rows` rows, by tiles. */
INLINE void multiply(const word_at *a, const u32 *b, DTYPE *sums, const struct pending *last,
                     const int rows)
{
    tiles_zero();
    for (i64 s = 0; s < KS; s++) {
        if (DOT_SPLIT)
            tiles_step_split(a + s * A_STEP, A_ROW, A_TILE, 256, b + s * STEP_WORDS, DOT_NR,
                             rows);
        else
            tiles_step(a + s * A_STEP, A_ROW, A_TILE, b + s * STEP_WORDS, DOT_NR, rows);
        if (s * FINISH_ROWS < last->rows)
            finish(last, (int)s * FINISH_ROWS, (int)(s + 1) * FINISH_ROWS);
    }
    tiles_store(sums, rows);
}

static __attribute__((noinline)) void by_vectors(const word_at *a, const u32 *b, DTYPE *sums,
                                                 int rows)
{
    for (int i = 0; i < rows * DOT_NR; i++)
        sums[i] = 0;
    for (i64 s = 0; s < KS; s++)
        tiles_step_by_vectors(a + s * A_STEP, A_ROW, A_TILE, b + s * STEP_WORDS, DOT_NR, sums,
                              rows);
}

/* Blocks [t0, t1) of rows and panels [p0, p1) of columns of one product. */
struct share {
    const word_at *data;
    const u32 *packed;
    const OUT_T *bias; /* if BIAS */
    i64 o;             /* where its output begins */
    i64 t0, t1, p0, p1;
};

INLINE void compute(const struct share *w, void *const *arg, int granted)
{
    DTYPE sums[2][TILE_ROWS * DOT_NR] __attribute__((aligned(64)));
    struct pending last = {.arg = arg};
    int turn = 0, shape = 0;
    const i64 rows_of = w->t1 - w->t0, panels = w->p1 - w->p0;
    for (i64 i = 0; i < rows_of * panels; i++, turn ^= 1) {
        const i64 t = w->t0 + (ROWS_FIRST ? i / panels : i % rows_of);
        const i64 p = w->p0 + (ROWS_FIRST ? i % panels : i / rows_of);
        const int rows = t < BLOCKS - 1 ? TILE_ROWS : LAST_ROWS;
        const word_at *a = w->data + t * TILE_M * A_TILE;
        const u32 *b = w->packed + p * PANEL_WORDS;
        if (granted && shape != rows)
            tiles_begin(shape = rows);
        if (!granted)
            finish(&last, 0, TILE_ROWS);
        else if (rows == TILE_ROWS)
            multiply(a, b, sums[turn], &last, TILE_ROWS);
        else
            multiply(a, b, sums[turn], &last, LAST_ROWS);
        if (!granted || !tiles_hold(sums[turn], rows))
            by_vectors(a, b, sums[turn], rows);
        last = (struct pending){.sums = sums[turn],
                                .bias = BIAS ? w->bias + p * DOT_NR : 0,
                                .arg = arg,
                                .o = w->o + t * TILE_ROWS * N + p * DOT_NR,
                                .cols = N - p * DOT_NR,
                                .rows = rows};
    }
    finish(&last, 0, TILE_ROWS);
    if (granted)
        tiles_end();
}

#endif
