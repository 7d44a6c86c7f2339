/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_amx.x86: convolutions of 16-bit floats and of 8-bit integers by tiles, pixels as rows and
 * output channels as columns. Macros from the plan: TAPS (of a kernel's row in one pixel's words: 1
 * or KW; CW are those of all of them), CO_TASKS and PIXEL_TASKS (of an image: tasks of as many
 * panels of DOT_NR output channels, and blocks of TILE_ROWS pixels, each), ROW_PIECES (in which a
 * plane's rows are laid), those of kernels/convolution/dots/words.kernel.h and of
 * kernels/matmul/tiles.kernel.h.
 *
 * The data is [N * GROUPS][CHUNKS][PHASE_H][PHASE_W][PLANE][16 words], so that 16 pixels are one
 * tile as they lie, a packed weight [GROUPS][PANELS][KH * COLUMNS][CHUNKS][16 words][DOT_NR].
 */
#include "kernels/convolution/dots/pixels.kernel.h"
#include "kernels/convolution/dots/words.kernel.h"
#include "kernels/matmul/tiles.kernel.h"

#define CHUNKS CEIL_DIV(CW, 16) /* of 16 words of channels */
#define CHUNK_WORDS ((i64)PHASE_H * PHASE_W * PLANE * 16)
/* How far words are from the same with halves exchanged. */
#define EXCHANGED (N * GROUPS * CHUNKS * CHUNK_WORDS)
#define PANELS CEIL_DIV(CO_G, DOT_NR)
#define COLUMNS (KW / TAPS)     /* of a kernel, each a step of its own */
#define PIXEL_WORDS (CW / TAPS) /* of a tap */
#define PANEL_STEPS ((i64)KH * COLUMNS * CHUNKS)
#define STEP_WORDS (16 * DOT_NR)
#define BLOCKS CEIL_DIV(PIXELS, TILE_ROWS)

/* arg: weight [GROUPS * CO_G][CI_G][KH][KW], packed weight */
void pack_weight(void *const *arg)
{
    const IN_T *weight = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR_N(2)
    for (i64 g = 0; g < GROUPS; g++)
        for (i64 p = 0; p < PANELS; p++) {
            u32 *to = packed + (g * PANELS + p) * PANEL_STEPS * STEP_WORDS;
            for (i64 tap = 0; tap < KH * KW; tap += TAPS)
                for (i64 c = 0; c < CHUNKS * 16; c++, to += DOT_NR)
                    for (i64 j = 0; j < DOT_NR; j++) {
                        const i64 o = p * DOT_NR + j;
                        to[j] = o < CO_G && c < CW
                                    ? weight_word(weight, g * CO_G + o, tap + c / PIXEL_WORDS,
                                                  c % PIXEL_WORDS)
                                    : 0;
                    }
        }
}

/* Words of a pixel, and where there are halves the same exchanged. */
INLINE void lay(u32 *to, words w)
{
    *(words_at *)to = w;
    if (DOT_SPLIT)
        *(words_at *)(to + EXCHANGED) = dot_exchanged(w);
}

/* Pixels j to `end` of a row of a plane: pixel j is column j * SW + left of the data, or padding.
 */
INLINE void lay_row(u32 *to, const IN_T *row, i64 c, i64 left, i64 j, i64 end)
{
    for (; j < end; j += VLEN) {
        vec r[VLEN];
        UNROLL(64)
        for (int k = 0; k < VLEN; k++)
            r[k] = c + k < CW ? (vec)pixels_at(row, (c + k) % PIXEL_WORDS,
                                               j * SW + left + (c + k) / PIXEL_WORDS * DW)
                              : (vec){0};
        vec_turn(r);
        UNROLL(64)
        for (int k = 0; k < VLEN; k++)
            if (PITCH % VLEN == 0 || j + k < PITCH)
                lay(to + (j + k) * 16, (words)r[k]);
    }
}

INLINE void lay_padding(u32 *to, i64 j, i64 end)
{
    for (; j < end; j++)
        for (int k = 0; k < 16; k += VLEN)
            lay(to + j * 16 + k, (words){0});
}

/* A piece of row i of the planes of 16 words of channels, c and those behind it. */
INLINE void lay_piece(u32 *planes, const IN_T *data, i64 c, i64 i, i64 piece)
{
    const i64 j = piece * CEIL_DIV(PITCH, VLEN) / ROW_PIECES * VLEN;
    const i64 end = MIN((piece + 1) * CEIL_DIV(PITCH, VLEN) / ROW_PIECES * VLEN, PITCH);
    for (int py = 0; py < PHASE_H; py++)
        for (int px = 0; px < PHASE_W; px++) {
            const i64 y = i * SH + py - PT;
            u32 *to = planes + ((i64)(py * PHASE_W + px) * PLANE + i * PITCH) * 16;
            if (y >= 0 && y < H)
                lay_row(to, data + y * W, c, px - PL, j, end);
            else
                lay_padding(to, j, end);
        }
}

/* arg: data, the same in words */
void lay_data(void *const *arg)
{
    const IN_T *data = arg[0];
    u32 *words_of = arg[1];
    PARALLEL_FOR_N(4)
    for (i64 image = 0; image < N * GROUPS; image++)
        for (i64 chunk = 0; chunk < CHUNKS; chunk++)
            for (i64 i = 0; i < ROWS; i++)
                for (i64 piece = 0; piece < ROW_PIECES; piece++)
                    lay_piece(words_of + (image * CHUNKS + chunk) * CHUNK_WORDS,
                              data + image * CI_G * H * W, chunk * 16, i, piece);
}

/* A block whose sums are made and not yet the output: that is done between the steps of the next
 * one, as vectors have little to do while tiles are multiplied. */
struct pending {
    const DTYPE *sums; /* [TILE_ROWS][DOT_NR] */
    void *const *arg;
    i64 o, p, cols; /* where its channels begin in the output, its first pixel, channels left */
};

#define PIECES (TILE_M * TILE_N) /* of a block: 16 pixels of 16 channels */

/* Piece `at` of it; those of the same channels follow one another. */
static __attribute__((noinline)) void finish(const struct pending *w, int at)
{
    const int i = at % TILE_M * VLEN, j = at / TILE_M * VLEN;
    if (j >= w->cols || w->p + i >= PIXELS)
        return;
    vec r[VLEN];
    UNROLL(64)
    for (int k = 0; k < VLEN; k++)
        r[k] = load(w->sums + (i + k) * DOT_NR + j);
    vec_turn(r);
    for (int k = 0; k < VLEN && j + k < w->cols; k++)
        put_pixels(w->arg[2], w->o + (j + k) * (i64)OH * OW, w->p + i, r[k], w->arg);
}

/* Sums of TILE_ROWS pixels from p on in tiles; what is left of the last block is finished. */
INLINE void multiply(const u32 *data, const u32 *weight, DTYPE *sums, i64 p,
                     const struct pending *last)
{
    int piece = 0;
    tiles_zero();
    for (int y = 0; y < KH; y++)
        for (int x = 0; x < COLUMNS; x++) {
            const u32 *a = data + (tap_at(y, x) + p) * 16;
            for (i64 s = 0; s < CHUNKS; s++, a += CHUNK_WORDS, weight += STEP_WORDS) {
                if (DOT_SPLIT)
                    tiles_step_split(a, 16, 256, EXCHANGED, weight, DOT_NR, TILE_ROWS);
                else
                    tiles_step(a, 16, 256, weight, DOT_NR, TILE_ROWS);
                if (piece < PIECES)
                    finish(last, piece++);
            }
        }
    while (piece < PIECES)
        finish(last, piece++);
    tiles_store(sums, TILE_ROWS);
}

static __attribute__((noinline)) void by_vectors(const u32 *data, const u32 *weight,
                                                 DTYPE *sums, i64 p)
{
    for (int i = 0; i < TILE_ROWS * DOT_NR; i++)
        sums[i] = 0;
    for (int y = 0; y < KH; y++)
        for (int x = 0; x < COLUMNS; x++) {
            const u32 *a = data + (tap_at(y, x) + p) * 16;
            for (i64 s = 0; s < CHUNKS; s++, a += CHUNK_WORDS, weight += STEP_WORDS)
                tiles_step_by_vectors(a, 16, 256, weight, DOT_NR, sums, TILE_ROWS);
        }
}

/* arg: data in words, packed weight, out */
void amx(void *const *arg)
{
    const u32 *data = arg[0], *packed = arg[1];
    const int granted = tiles_granted();
    PARALLEL_FOR_N(3)
    for (i64 image = 0; image < N * GROUPS; image++)
        for (i64 pixels = 0; pixels < PIXEL_TASKS; pixels++)
            for (i64 channels = 0; channels < CO_TASKS; channels++) {
                const i64 b0 = pixels * BLOCKS / PIXEL_TASKS;
                const i64 b1 = (pixels + 1) * BLOCKS / PIXEL_TASKS;
                const i64 p0 = channels * PANELS / CO_TASKS;
                const i64 p1 = (channels + 1) * PANELS / CO_TASKS;
                DTYPE sums[2][TILE_ROWS * DOT_NR] __attribute__((aligned(64)));
                struct pending last = {.arg = arg};
                int turn = 0;
                if (granted)
                    tiles_begin(TILE_ROWS);
                for (i64 q = p0; q < p1; q++)
                    for (i64 b = b0; b < b1; b++, turn ^= 1) {
                        const u32 *from = data + image * CHUNKS * CHUNK_WORDS;
                        const u32 *weight =
                            packed + (image % GROUPS * PANELS + q) * PANEL_STEPS * STEP_WORDS;
                        const i64 p = b * TILE_ROWS;
                        if (granted)
                            multiply(from, weight, sums[turn], p, &last);
                        else
                            for (int piece = 0; piece < PIECES; piece++)
                                finish(&last, piece);
                        if (!granted ||
                            !tiles_hold(sums[turn], (int)MIN(TILE_ROWS, PIXELS - p)))
                            by_vectors(from, weight, sums[turn], p);
                        last = (struct pending){.sums = sums[turn],
                                                .arg = arg,
                                                .o = (image * CO_G + q * DOT_NR) * OH * OW,
                                                .p = p,
                                                .cols = CO_G - q * DOT_NR};
                    }
                for (int piece = 0; piece < PIECES; piece++)
                    finish(&last, piece);
                if (granted)
                    tiles_end();
            }
}
