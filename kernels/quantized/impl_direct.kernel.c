/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d_direct.cpu. Macros from the plan: the shape, PAIRS (words.kernel.h), PASSES,
 * WORDS, DOT_NV (panels.kernel.h), COPIED, TAPS (runs of a kernel's row), RUN (numbers of one),
 * RUN_WORDS, COLUMNS (of a copied line), COPY (words of a thread's copy), TILE_ROWS and TILE_COLS
 * (outputs of a tile; of several rows it has all columns), UNITS (tiles of a lone line, or lines of
 * tiles), BLOCKS (of them, which meet all panels of a part in turn), PARTS (of a group's panels,
 * tasks of their own).
 *
 * The one idea: what a row of the kernel meets lies one behind the other in a line of the image, so
 * that it is words as it lies; outputs of a tile are at constant distances from the first. What a
 * run's last word has behind the run is multiplied by zeros. A copy has what lies beside the image,
 * 128 added to what has a sign, or 16 bits of what is multiplied in pairs. In a model the weight
 * comes from memory: a panel's first tiles fetch the next panel's meanwhile.
 */
#define MOVE WORD_MOVE
#include "kernels/quantized/panels.kernel.h"

#define PIXEL ((i64)(COPIED ? CI_G : CI)) /* numbers from a column to the next */
#define LINE (COPIED ? COLUMNS * (i64)CI_G : (i64)W * CI) /* from a line to the next */
#define TILE (TILE_ROWS * TILE_COLS)
#define LAST_COLS (OW % TILE_COLS)
#define LAST_ROWS (OH % TILE_ROWS)

/* ---- the copy ------------------------------------------------------------------------------- */

/* `lines` lines from y0 and x0 on of an image, of which `from` is the group's first channel. */
static __attribute__((noinline)) void lay_lines(number *to, const X_T *from, i64 y0, i64 x0,
                                                i64 lines, i64 columns)
{
    const i64 left = MIN(MAX(-x0, (i64)0), columns), end = MIN(MAX(W - x0, left), columns);
    for (i64 i = 0; i < lines; i++, to += LINE) {
        const i64 y = y0 + i;
        if (y < 0 || y >= H) {
            fill_numbers(to, columns * CI_G, WORD_MOVE);
            continue;
        }
        const X_T *line = from + (y * W + x0) * CI;
        fill_numbers(to, left * CI_G, WORD_MOVE);
        if (GROUPS == 1)
            copy_numbers(to + left * CI_G, line + left * CI, (end - left) * CI_G, WORD_MOVE);
        else
            for (i64 x = left; x < end; x++)
                copy_numbers(to + x * CI_G, line + x * CI, CI_G, WORD_MOVE);
        fill_numbers(to + end * CI_G, (columns - end) * CI_G, WORD_MOVE);
    }
}

/* ---- products ------------------------------------------------------------------------------- */

/* A tile of rows x cols outputs by `vectors` of a panel. A line of each step's words from `ahead`
 * on is fetched. */
INLINE void tile(const number *from, const u32 *weight, const u32 *ahead, const int *start,
                 BYTE_T *out, const int rows, const int cols, const int vectors,
                 const int channels)
{
    DTYPE sums[TILE * NR] __attribute__((aligned(64)));
    vec acc[TILE][DOT_NV];
    const u32 *b = weight;
    UNROLL(16)
    for (int i = 0; i < rows * cols; i++) {
        UNROLL(2)
        for (int j = 0; j < vectors; j++)
            acc[i][j] = (vec){0};
    }
    for (int pass = 0; pass < PASSES; pass++)
        for (i64 y = 0; y < KH; y++)
            for (i64 x = 0; x < TAPS; x++) {
                const number *a = from + y * (DH * LINE) + x * (DW * PIXEL);
                UNROLL(1)
                for (i64 k = 0; k < RUN_WORDS; k++, a += WORD_NUMBERS, b += NR) {
                    word_vec w[DOT_NV];
                    __builtin_prefetch(ahead + (b - weight));
                    UNROLL(2)
                    for (int j = 0; j < vectors; j++)
                        w[j] = *(const word_vec_at *)(b + j * VLEN);
                    UNROLL(16)
                    for (int i = 0; i < rows * cols; i++) {
                        const word_vec all = *(const word_near *)(a + i / cols * (SH * LINE) +
                                                                  i % cols * (SW * PIXEL)) -
                                             (word_vec){0};
                        UNROLL(2)
                        for (int j = 0; j < vectors; j++)
                            acc[i][j] = word_step(acc[i][j], all, w[j]);
                    }
                }
            }
    UNROLL(16)
    for (int i = 0; i < rows * cols; i++) {
        UNROLL(2)
        for (int j = 0; j < vectors; j++)
            store(sums + i * NR + j * VLEN, acc[i][j]);
    }
    panel_finish(sums, start, (const float *)(start + ALL_CHANNELS), out, rows * cols, vectors,
                 channels);
}

/* What tile number n of a panel fetches: a vector of the next one's; behind these what it has. */
INLINE const u32 *ahead_of(const u32 *weight, i64 n)
{
    return n < DOT_NV ? weight + WEIGHT_WORDS + n * VLEN : weight;
}

/* Tiles of `rows` lines, of which the first is number n. */
INLINE void lines(const number *from, const u32 *weight, const int *start, BYTE_T *out, i64 n,
                  i64 cols, const int rows, const int vectors, const int channels)
{
    i64 x = 0;
    for (; x + TILE_COLS <= cols; x += TILE_COLS, n++)
        tile(from + x * (SW * PIXEL), weight, ahead_of(weight, n), start, out + x * CO, rows,
             TILE_COLS, vectors, channels);
    if (LAST_COLS && x < cols)
        tile(from + x * (SW * PIXEL), weight, ahead_of(weight, n), start, out + x * CO, rows,
             LAST_COLS, vectors, channels);
}

/* rows x cols outputs by a panel. */
INLINE void panel(const number *from, const u32 *weight, const int *start, BYTE_T *out,
                  i64 rows, i64 cols, const int vectors, const int channels)
{
    i64 y = 0, n = 0;
    for (; y + TILE_ROWS <= rows; y += TILE_ROWS, n += CEIL_DIV(cols, TILE_COLS))
        lines(from + y * (SH * LINE), weight, start, out + y * ((i64)OW * CO), n, cols,
              TILE_ROWS, vectors, channels);
    if (LAST_ROWS && y < rows)
        lines(from + y * (SH * LINE), weight, start, out + y * ((i64)OW * CO), n, cols,
              LAST_ROWS, vectors, channels);
}

/* arg: data, packed, out, copies of the threads */
void direct(void *const *arg)
{
    const u32 *packed = arg[1];
    const int *start = (const int *)(packed + GROUPS * CHANNEL_PANELS * WEIGHT_WORDS);
    PARALLEL_FOR_N(4)
    for (i64 g = 0; g < GROUPS; g++)
        for (i64 n = 0; n < N; n++)
            for (i64 part = 0; part < PARTS; part++)
                for (i64 block = 0; block < BLOCKS; block++) {
                    const i64 first = block * UNITS / BLOCKS,
                              end = (block + 1) * UNITS / BLOCKS;
                    const i64 y = OH == 1 ? 0 : first * TILE_ROWS;
                    const i64 x = OH == 1 ? first * TILE_COLS : 0;
                    const i64 rows = OH == 1 ? 1 : MIN(end * TILE_ROWS, (i64)OH) - y;
                    const i64 cols = OH == 1 ? MIN(end * TILE_COLS, (i64)OW) - x : OW;
                    const X_T *image = (const X_T *)arg[0] + n * ((i64)H * W * CI) + g * CI_G;
                    BYTE_T *out = (BYTE_T *)arg[2] + ((n * OH + y) * OW + x) * CO + g * CO_G;
                    const number *from = (const number *)image + (y * SH * W + x * SW) * CI;
                    if (COPIED) {
                        number *copy = (number *)((u32 *)arg[3] + THREAD * (i64)COPY);
                        lay_lines(copy, image, y * SH - PT, x * SW - PL,
                                  (rows - 1) * SH + (KH - 1) * DH + 1,
                                  (cols - 1) * SW + (KW - 1) * DW + 1);
                        from = copy;
                    }
                    for (i64 t = part * CHANNEL_PANELS / PARTS;
                         t < (part + 1) * CHANNEL_PANELS / PARTS; t++) {
                        const i64 at = g * CHANNEL_PANELS + t;
                        if (t < CHANNEL_PANELS - 1 || LAST_CHANNELS == NR)
                            panel(from, packed + at * WEIGHT_WORDS, start + at * NR,
                                  out + t * NR, rows, cols, DOT_NV, NR);
                        else
                            panel(from, packed + at * WEIGHT_WORDS, start + at * NR,
                                  out + t * NR, rows, cols, CEIL_DIV(LAST_CHANNELS, VLEN),
                                  LAST_CHANNELS);
                    }
                }
}
