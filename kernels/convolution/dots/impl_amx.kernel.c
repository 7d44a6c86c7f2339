/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_amx.x86: convolutions of bfloat16 and of 8-bit integers by tiles, output channels as rows
 * and pixels as columns. Macros from the plan: CO_BLOCKS and PIXEL_BLOCKS (blocks of TILE_M tiles of
 * channels, of DOT_NR pixels, of one task), those of kernels/convolution/dots/words.kernel.h and of
 * kernels/matmul/tiles.kernel.h. CWP is whole steps of 16 words.
 *
 * A packed weight is [GROUPS][CO_G / 16][KH * KW][CWP / 16][16 channels][16 words].
 */
#include "kernels/convolution/dots/words.kernel.h"
#include "kernels/matmul/tiles.kernel.h"

#define TAP_STEPS (CWP / 16)
#define TILE_WORDS ((i64)KH * KW * TAP_STEPS * 256) /* of 16 output channels */
#define TILES CEIL_DIV(CO_G, 16)                    /* of a group */
#define CO_ALL CEIL_DIV(CO_G, TILE_ROWS)
#define BLOCKS CEIL_DIV(PIXELS, DOT_NR)
#define LAST_ROWS (CO_G - (CO_ALL - 1) * TILE_ROWS)

/* arg: weight [GROUPS * CO_G][CI_G][KH][KW], packed weight, zeros at first */
void pack_weight(void *const *arg)
{
    const IN_T *weight = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR_N(2)
    for (i64 g = 0; g < GROUPS; g++)
        for (i64 i = 0; i < CO_G; i++) {
            u32 *to = packed + (g * TILES + i / 16) * TILE_WORDS + i % 16 * 16;
            for (i64 tap = 0; tap < KH * KW; tap++)
                for (i64 s = 0; s < TAP_STEPS; s++, to += 256)
                    for (i64 k = 0; k < 16; k++)
                        to[k] = weight_word(weight, g * CO_G + i, tap, s * 16 + k);
        }
}

/* Pixels from p on of `rows` output channels, whose first plane is `out`. */
INLINE void block(const u32 *planes, const u32 *weight, OUT_T *out, i64 p, const int rows,
                  int granted)
{
    DTYPE sums[TILE_ROWS * DOT_NR] __attribute__((aligned(64)));
    const u32 *a = weight;
    if (granted)
        tiles_zero();
    else
        for (int i = 0; i < rows * DOT_NR; i++)
            sums[i] = 0;
    for (int y = 0; y < KH; y++)
        for (int x = 0; x < KW; x++) {
            const u32 *b = planes + tap_at(y, x) + p;
            for (i64 s = 0; s < TAP_STEPS; s++, a += 256, b += 16 * CHANNEL_WORDS)
                if (granted)
                    tiles_step(a, 16, TILE_WORDS, b, CHANNEL_WORDS, rows);
                else
                    tiles_step_by_vectors(a, 16, TILE_WORDS, b, CHANNEL_WORDS, sums, rows);
        }
    if (granted)
        tiles_store(sums, rows);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < DOT_NR; j += VLEN)
            if (p + j < PIXELS)
                put_pixels(out + i * (i64)OH * OW, p + j, load(sums + i * DOT_NR + j));
}

INLINE void task(const u32 *planes, const u32 *weight, OUT_T *out, i64 t0, i64 t1, i64 b0,
                 i64 b1, const int rows, int granted)
{
    if (granted)
        tiles_begin(rows);
    for (i64 b = b0; b < b1; b++)
        for (i64 t = t0; t < t1; t++)
            block(planes, weight + t * TILE_M * TILE_WORDS, out + t * TILE_ROWS * OH * OW,
                  b * DOT_NR, rows, granted);
}

/* arg: planes of the data, packed weight, out */
void amx(void *const *arg)
{
    const u32 *planes = arg[0], *packed = arg[1];
    OUT_T *out = arg[2];
    const int granted = tiles_granted();
    PARALLEL_FOR_N(3)
    for (i64 image = 0; image < N * GROUPS; image++)
        for (i64 b0 = 0; b0 < BLOCKS; b0 += PIXEL_BLOCKS)
            for (i64 t0 = 0; t0 < CO_ALL; t0 += CO_BLOCKS) {
                const u32 *data = planes + image * IMAGE_WORDS;
                const u32 *weight = packed + image % GROUPS * TILES * TILE_WORDS;
                OUT_T *to = out + image * CO_G * OH * OW;
                const i64 b1 = MIN(b0 + PIXEL_BLOCKS, BLOCKS), t1 = MIN(t0 + CO_BLOCKS, CO_ALL);
                const i64 whole = t1 < CO_ALL || LAST_ROWS == TILE_ROWS ? t1 : t1 - 1;
                if (t0 < whole)
                    task(data, weight, to, t0, whole, b0, b1, TILE_ROWS, granted);
                if (whole < t1)
                    task(data, weight, to, whole, t1, b0, b1, LAST_ROWS, granted);
                if (granted)
                    tiles_end();
            }
}
