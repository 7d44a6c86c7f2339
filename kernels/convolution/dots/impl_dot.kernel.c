/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_dot.cpu: convolutions of narrow numbers in a tile of registers, DOT_MR output channels by
 * DOT_NV vectors of pixels. Macros from the plan: CO_TILES and PIXEL_BLOCKS (of one task), those of
 * kernels/convolution/dots/words.kernel.h.
 *
 * A packed weight is, for each tile of output channels, [DOT_MR] offsets if OFFSETS (minus 128
 * times the sum of a channel's weights), [KH * KW][CW][DOT_MR] words.
 */
#define DOT_COLUMNS_MOVED 1
#include "kernels/convolution/dots/words.kernel.h"

#define CO_ALL CEIL_DIV(CO_G, DOT_MR) /* tiles of a group */
#define BLOCKS CEIL_DIV(PIXELS, DOT_NR)
#define WEIGHT_WORDS ((i64)(KH * KW * CW + OFFSETS) * DOT_MR) /* of a tile */
#define CHANNEL_WORDS ((i64)PHASE_H * PHASE_W * PLANE)        /* of one word of channels */
#define IMAGE_WORDS (CW * CHANNEL_WORDS)
#define LAST_ROWS (CO_G - (CO_ALL - 1) * DOT_MR)

/* One row of a plane: pixel j is column j * SW + phase - PL of the data, or padding. */
INLINE void lay_row(u32 *to, const IN_T *row, int n, i64 phase)
{
    i64 j = 0;
    for (; j < PITCH && j * SW + phase < PL; j++)
        to[j] = ZERO_WORD;
    for (; SW == 1 && j + VLEN <= PITCH && j + phase - PL + VLEN <= W; j += VLEN)
        *(words_at *)(to + j) = pixel_words(row + j + phase - PL, n);
    for (; j < PITCH && j * SW + phase - PL < W; j++)
        to[j] = dot_word_of(row + j * SW + phase - PL, (i64)H * W, n) ^ ZERO_WORD;
    for (; j < PITCH; j++)
        to[j] = ZERO_WORD;
}

/* arg: data, its planes [N * GROUPS][CW][PHASE_H][PHASE_W][PLANE] */
void lay_data(void *const *arg)
{
    const IN_T *data = arg[0];
    u32 *planes = arg[1];
    PARALLEL_FOR_N(2)
    for (i64 image = 0; image < N * GROUPS; image++)
        for (i64 c = 0; c < CW; c++) {
            u32 *to = planes + image * IMAGE_WORDS + c * CHANNEL_WORDS;
            const IN_T *from = data + (image * CI_G + c * WORD) * H * W;
            const int n = (int)MIN(WORD, CI_G - c * WORD);
            for (int py = 0; py < PHASE_H; py++)
                for (int px = 0; px < PHASE_W; px++, to += PLANE)
                    for (i64 i = 0; i < ROWS; i++) {
                        const i64 y = i * SH + py - PT;
                        u32 *row = to + i * PITCH;
                        if (y >= 0 && y < H)
                            lay_row(row, from + y * W, n, px);
                        else
                            for (i64 j = 0; j < PITCH; j++)
                                row[j] = ZERO_WORD;
                    }
        }
}

/* arg: weight [GROUPS * CO_G][CI_G][KH][KW], packed weight, zeros at first */
void pack_weight(void *const *arg)
{
    const IN_T *weight = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR_N(2)
    for (i64 g = 0; g < GROUPS; g++)
        for (i64 t = 0; t < CO_ALL; t++) {
            u32 *to = packed + (g * CO_ALL + t) * WEIGHT_WORDS;
            for (i64 i = 0; i < MIN(DOT_MR, CO_G - t * DOT_MR); i++) {
                const i64 o = g * CO_G + t * DOT_MR + i;
                i32 sum = 0;
                for (i64 k = 0; OFFSETS && k < CI_G * KH * KW; k++)
                    sum += (i32)weight[o * CI_G * KH * KW + k];
                if (OFFSETS)
                    to[i] = (u32)sum * (u32)-128;
                u32 *word = to + OFFSETS * DOT_MR + i;
                for (i64 tap = 0; tap < KH * KW; tap++)
                    for (i64 c = 0; c < CW; c++, word += DOT_MR)
                        *word = weight_word(weight, o, tap, c);
            }
        }
}

/* Pixels from p on of `rows` output channels, whose first plane begins at out[o]. */
INLINE void tile(const u32 *planes, const u32 *weight, OUT_T *out, i64 o, i64 p, const int rows,
                 void *const *arg)
{
    dot_acc acc;
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < DOT_NV; j++)
            acc[i][j] = OFFSETS ? (vec)(weight[i] - (words){0}) : (vec){0};
    }
    const u32 *a = weight + OFFSETS * DOT_MR;
    for (int y = 0; y < KH; y++)
        for (int x = 0; x < KW; x++, a += CW * DOT_MR)
            dot_mac(acc, rows, CW, a, 1, DOT_MR, planes + tap_at(y, x) + p, CHANNEL_WORDS);
#if EPILOGUE
    /* One instance of what is fused. */
    vec done[DOT_MR * DOT_NV];
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < DOT_NV; j++)
            done[i * DOT_NV + j] = acc[i][j];
    }
    UNROLL(1)
    for (int k = 0; k < rows * DOT_NV; k++)
        if (p + k % DOT_NV * VLEN < PIXELS)
            put_pixels(out, o + k / DOT_NV * (i64)OH * OW, p + k % DOT_NV * VLEN, done[k], arg);
#else
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < DOT_NV; j++)
            if (p + j * VLEN < PIXELS)
                put_pixels(out, o + i * (i64)OH * OW, p + j * VLEN, acc[i][j], arg);
    }
#endif
}

/* arg: planes of the data, packed weight, out */
void dots(void *const *arg)
{
    const u32 *planes = arg[0], *packed = arg[1];
    OUT_T *out = arg[2];
    PARALLEL_FOR_N(3)
    for (i64 image = 0; image < N * GROUPS; image++)
        for (i64 b0 = 0; b0 < BLOCKS; b0 += PIXEL_BLOCKS)
            for (i64 t0 = 0; t0 < CO_ALL; t0 += CO_TILES)
                for (i64 b = b0; b < MIN(b0 + PIXEL_BLOCKS, BLOCKS); b++)
                    for (i64 t = t0; t < MIN(t0 + CO_TILES, CO_ALL); t++) {
                        const u32 *data = planes + image * IMAGE_WORDS;
                        const u32 *weight =
                            packed + (image % GROUPS * CO_ALL + t) * WEIGHT_WORDS;
                        const i64 o = (image * CO_G + t * DOT_MR) * OH * OW;
                        if (CO_G % DOT_MR == 0 || t < CO_ALL - 1)
                            tile(data, weight, out, o, b * DOT_NR, DOT_MR, arg);
                        else
                            tile(data, weight, out, o, b * DOT_NR, LAST_ROWS, arg);
                    }
}
