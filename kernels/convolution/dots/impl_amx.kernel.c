/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_amx.x86: convolutions of 16-bit floats and of 8-bit integers by tiles, pixels as rows and
 * output channels as columns. Macros from the plan: CO_PANELS and PIXEL_BLOCKS (panels of DOT_NR
 * output channels, blocks of TILE_ROWS pixels, of one task), those of
 * kernels/convolution/dots/words.kernel.h and of kernels/matmul/tiles.kernel.h.
 *
 * The data is [N * GROUPS][CHUNKS][PHASE_H][PHASE_W][PLANE][16 words], so that 16 pixels are one
 * tile as they lie, a packed weight [GROUPS][PANELS][KH * KW][CHUNKS][16 words][DOT_NR].
 */
#include "kernels/convolution/dots/words.kernel.h"
#include "kernels/matmul/tiles.kernel.h"

#define CHUNKS CEIL_DIV(CW, 16) /* of 16 words of channels */
#define CHUNK_WORDS ((i64)PHASE_H * PHASE_W * PLANE * 16)
/* How far words are from the same with halves exchanged. */
#define EXCHANGED (N * GROUPS * CHUNKS * CHUNK_WORDS)
#define PANELS CEIL_DIV(CO_G, DOT_NR)
#define PANEL_STEPS ((i64)KH * KW * CHUNKS)
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
            for (i64 tap = 0; tap < KH * KW; tap++)
                for (i64 c = 0; c < CHUNKS * 16; c++, to += DOT_NR)
                    for (i64 j = 0; j < DOT_NR; j++) {
                        const i64 o = p * DOT_NR + j;
                        to[j] = o < CO_G ? weight_word(weight, g * CO_G + o, tap, c) : 0;
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

/* Pixels j to `end` of a row of a plane, 16 words each: words c on of columns j * SW + left on. */
INLINE void lay_pixels(u32 *to, const IN_T *row, i64 c, i64 left, i64 j, i64 end)
{
    for (; j < end; j++) {
        u32 word[16] __attribute__((aligned(64)));
        for (i64 k = 0; k < 16; k++)
            word[k] = c + k < CW
                          ? dot_word_of(row + k * WORD * H * W + j * SW + left, (i64)H * W,
                                        (int)MIN(WORD, CI_G - (c + k) * WORD))
                          : 0;
        for (int k = 0; k < 16; k += VLEN)
            lay(to + j * 16 + k, *(const words_at *)(word + k));
    }
}

INLINE void lay_padding(u32 *to, i64 j, i64 end)
{
    for (; j < end; j++)
        for (int k = 0; k < 16; k += VLEN)
            lay(to + j * 16 + k, (words){0});
}

/* One row of a plane: pixel j is column j * SW + left of the data, or padding. */
INLINE void lay_row(u32 *to, const IN_T *row, i64 c, i64 left)
{
    const i64 first = MIN(PITCH, left < 0 ? CEIL_DIV(-left, SW) : 0);
    const i64 last = MAX(first, MIN(PITCH, CEIL_DIV(W - left, SW)));
    lay_padding(to, 0, first);
    i64 j = first;
    for (; SW == 1 && j + VLEN <= last; j += VLEN) {
        vec r[VLEN];
        UNROLL(64)
        for (int k = 0; k < VLEN; k++)
            r[k] = c + k < CW ? (vec)pixel_words(row + k * WORD * (i64)H * W + j + left,
                                                 (int)MIN(WORD, CI_G - (c + k) * WORD))
                              : (vec){0};
        vec_turn(r);
        UNROLL(64)
        for (int k = 0; k < VLEN; k++)
            lay(to + (j + k) * 16, (words)r[k]);
    }
    lay_pixels(to, row, c, left, j, last);
    lay_padding(to, last, PITCH);
}

/* arg: data, the same in words */
void lay_data(void *const *arg)
{
    const IN_T *data = arg[0];
    u32 *words_of = arg[1];
    PARALLEL_FOR_N(3)
    for (i64 image = 0; image < N * GROUPS; image++)
        for (i64 chunk = 0; chunk < CHUNKS; chunk++)
            for (i64 i = 0; i < ROWS; i++)
                for (int py = 0; py < PHASE_H; py++)
                    for (int px = 0; px < PHASE_W; px++) {
                        const i64 y = i * SH + py - PT;
                        u32 *to = words_of + (image * CHUNKS + chunk) * CHUNK_WORDS +
                                  ((i64)(py * PHASE_W + px) * PLANE + i * PITCH) * 16;
                        if (y >= 0 && y < H)
                            lay_row(to, data + ((image * CI_G + chunk * 16 * WORD) * H + y) * W,
                                    chunk * 16, px - PL);
                        else
                            lay_padding(to, 0, PITCH);
                    }
}

/* Sums of TILE_ROWS pixels from p on in tiles, or by vectors added to `sums`. */
INLINE void make_sums(const u32 *data, const u32 *weight, DTYPE *sums, i64 p, const int tiles)
{
    if (tiles)
        tiles_zero();
    for (int y = 0; y < KH; y++)
        for (int x = 0; x < KW; x++) {
            const u32 *a = data + (tap_at(y, x) + p) * 16;
            for (i64 s = 0; s < CHUNKS; s++, a += CHUNK_WORDS, weight += STEP_WORDS)
                if (tiles && DOT_SPLIT)
                    tiles_step_split(a, 16, 256, EXCHANGED, weight, DOT_NR, TILE_ROWS);
                else if (tiles)
                    tiles_step(a, 16, 256, weight, DOT_NR, TILE_ROWS);
                else
                    tiles_step_by_vectors(a, 16, 256, weight, DOT_NR, sums, TILE_ROWS);
        }
}

/* TILE_ROWS pixels from p on of `cols` output channels, whose first plane begins at out[o]. */
INLINE void block(const u32 *data, const u32 *weight, OUT_T *out, i64 o, i64 p, i64 cols,
                  int granted, void *const *arg)
{
    DTYPE sums[TILE_ROWS * DOT_NR] __attribute__((aligned(64)));
    if (granted) {
        make_sums(data, weight, sums, p, 1);
        tiles_store(sums, TILE_ROWS);
    }
    if (!granted || !tiles_hold(sums, (int)MIN(TILE_ROWS, PIXELS - p))) {
        for (int i = 0; i < TILE_ROWS * DOT_NR; i++)
            sums[i] = 0;
        make_sums(data, weight, sums, p, 0);
    }
    for (int i = 0; i < TILE_ROWS; i += VLEN)
        for (int j = 0; j < DOT_NR && j < cols && p + i < PIXELS; j += VLEN) {
            vec r[VLEN];
            UNROLL(64)
            for (int k = 0; k < VLEN; k++)
                r[k] = load(sums + (i + k) * DOT_NR + j);
            vec_turn(r);
            for (int k = 0; k < VLEN && j + k < cols; k++)
                put_pixels(out, o + (j + k) * (i64)OH * OW, p + i, r[k], arg);
        }
}

/* arg: data in words, packed weight, out */
void amx(void *const *arg)
{
    const u32 *data = arg[0], *packed = arg[1];
    OUT_T *out = arg[2];
    const int granted = tiles_granted();
    PARALLEL_FOR_N(3)
    for (i64 image = 0; image < N * GROUPS; image++)
        for (i64 b0 = 0; b0 < BLOCKS; b0 += PIXEL_BLOCKS)
            for (i64 p0 = 0; p0 < PANELS; p0 += CO_PANELS) {
                if (granted)
                    tiles_begin(TILE_ROWS);
                for (i64 p = p0; p < MIN(p0 + CO_PANELS, PANELS); p++)
                    for (i64 b = b0; b < MIN(b0 + PIXEL_BLOCKS, BLOCKS); b++)
                        block(data + image * CHUNKS * CHUNK_WORDS,
                              packed + (image % GROUPS * PANELS + p) * PANEL_STEPS * STEP_WORDS,
                              out, (image * CO_G + p * DOT_NR) * OH * OW, b * TILE_ROWS,
                              CO_G - p * DOT_NR, granted, arg);
                if (granted)
                    tiles_end();
            }
}
