/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_amx.x86: products of 16-bit floats and of 8-bit integers by tiles, 16 rows of 64 bytes.
 * Macros from the plan: M N, BIAS, PACK_DATA (rows are put together 16 by 16, KS steps of 16 words
 * each, with zeros behind them), ROW_BLOCKS (blocks of TILE_M tiles of one task), those of
 * kernels/matmul/tiles.kernel.h.
 */
#include "kernels/matmul/tiles.kernel.h"

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

/* ---- packing ----------------------------------------------------------------------------- */

/* arg: weight [N][K], its panels */
void pack_weight(void *const *arg)
{
    const IN_T *weight = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR
    for (i64 p = 0; p < PANELS; p++)
        dot_pack_panel(packed + p * PANEL_WORDS, weight + p * DOT_NR * K,
                       (int)MIN(DOT_NR, N - p * DOT_NR), KS * 16);
}

#if PACK_DATA
/* arg: data [M][K], its tiles [M / 16][KS][16][16], those with halves exchanged behind each */
void pack_data(void *const *arg)
{
    const IN_T *data = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR
    for (i64 i = 0; i < M; i++) {
        u32 *to = packed + i / 16 * A_TILE + i % 16 * A_ROW;
        const IN_T *row = data + i * K;
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
}
#endif

/* ---- the product ------------------------------------------------------------------------- */

/* Sums of `rows` rows as the output from out[o] on. */
INLINE void finish(const DTYPE *sums, const OUT_T *bias, OUT_T *out, i64 o, int rows, i64 cols,
                   void *const *arg)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < DOT_NR && j < cols; j += VLEN)
            if (j + VLEN <= cols)
                dot_store(out, o + i * N + j, load(sums + i * DOT_NR + j), BIAS ? bias + j : 0,
                          VLEN, arg);
            else
                dot_store(out, o + i * N + j, load(sums + i * DOT_NR + j), BIAS ? bias + j : 0,
                          N % VLEN, arg);
}

INLINE void block(const word_at *data, const u32 *packed, const OUT_T *bias, OUT_T *out, i64 p,
                  i64 t, const int rows, int granted, void *const *arg)
{
    DTYPE sums[TILE_ROWS * DOT_NR] __attribute__((aligned(64)));
    const word_at *a = data + t * TILE_M * A_TILE;
    const u32 *b = packed + p * PANEL_WORDS;
    if (granted) {
        tiles_zero();
        for (i64 s = 0; s < KS && DOT_SPLIT; s++)
            tiles_step_split(a + s * A_STEP, A_ROW, A_TILE, 256, b + s * STEP_WORDS, DOT_NR,
                             rows);
        for (i64 s = 0; s < KS && !DOT_SPLIT; s++)
            tiles_step(a + s * A_STEP, A_ROW, A_TILE, b + s * STEP_WORDS, DOT_NR, rows);
        tiles_store(sums, rows);
    }
    if (!granted || !tiles_hold(sums, rows)) {
        for (int i = 0; i < rows * DOT_NR; i++)
            sums[i] = 0;
        for (i64 s = 0; s < KS; s++)
            tiles_step_by_vectors(a + s * A_STEP, A_ROW, A_TILE, b + s * STEP_WORDS, DOT_NR,
                                  sums, rows);
    }
    finish(sums, BIAS ? bias + p * DOT_NR : 0, out, t * TILE_ROWS * N + p * DOT_NR, rows,
           N - p * DOT_NR, arg);
}

/* arg: data or its tiles, panels, out, bias if BIAS */
void amx(void *const *arg)
{
    const word_at *data = arg[0];
    const u32 *packed = arg[1];
    OUT_T *out = arg[2];
    const OUT_T *bias = BIAS ? arg[3] : 0;
    const int granted = tiles_granted();
    PARALLEL_FOR_N(2)
    for (i64 p = 0; p < PANELS; p++)
        for (i64 t0 = 0; t0 < BLOCKS; t0 += ROW_BLOCKS) {
            const i64 t1 = MIN(t0 + ROW_BLOCKS, BLOCKS);
            const i64 whole = t1 < BLOCKS || LAST_ROWS == TILE_ROWS ? t1 : t1 - 1;
            if (granted && t0 < whole)
                tiles_begin(TILE_ROWS);
            for (i64 t = t0; t < whole; t++)
                block(data, packed, bias, out, p, t, TILE_ROWS, granted, arg);
            if (granted && whole < t1)
                tiles_begin(LAST_ROWS);
            if (whole < t1)
                block(data, packed, bias, out, p, whole, LAST_ROWS, granted, arg);
            if (granted)
                tiles_end();
        }
}
