/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of narrow numbers, NCHW: what bodies of vectors and of tiles share.
 *
 * The one idea: planes of words. A word is WORD channels of one pixel (kernels/matmul/dot.kernel.h),
 * and the data is laid out anew as planes of words with the padding in them, a plane for each residue
 * of rows and columns by the strides. Then an output pixel p, counted with the pitch of a plane, meets
 * tap (y, x) of the kernel at word p plus a constant, whichever row it is in: VLEN pixels are a
 * vector, and the planes of 16 words of channels a tile, with no column of patches made. The pixels
 * beyond the end of an output's row are computed and not stored.
 *
 * Macros from the plan: N GROUPS CI_G H W CO_G KH KW OH OW SH SW PT PL DH DW, CW (words of a group's
 * channels) and CWP (planes of them, those behind CW zeros), PHASE_H PHASE_W (residues of rows, of
 * columns), PITCH (of a plane's rows), ROWS (of a plane), PLANE (words from one to the next), those of
 * dot.kernel.h.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_WORDS_H
#define OPTUNE_KERNELS_CONVOLUTION_WORDS_H

#include "kernels/matmul/dot.kernel.h"

#define CHANNEL_WORDS ((i64)PHASE_H * PHASE_W * PLANE) /* of one word of channels */
#define IMAGE_WORDS (CWP * CHANNEL_WORDS)
#define PIXELS ((OH - 1) * PITCH + OW) /* of an output, those that are not stored among them */
/* Of zero, which an unsigned number has 128 added to. */
#define ZERO_WORD (DOT == DOT_I8 ? 0x80808080u : 0u)

/* Where tap (y, x) of pixel 0 is, from a channel's first plane on. */
INLINE i64 tap_at(int y, int x)
{
    const int ty = y * DH, tx = x * DW;
    return ((i64)(ty % SH) * PHASE_W + tx % SW) * PLANE + (i64)(ty / SH) * PITCH + tx / SW;
}

/* Words of VLEN pixels side by side: `n` channels, planes of the data H * W apart. */
INLINE words pixel_words(const IN_T *from, int n)
{
    words w = {0};
    UNROLL(4)
    for (int i = 0; i < WORD; i++) {
        if (i >= n)
            break;
#if DOT == DOT_WIDE
        const halves h = *(const halves_at *)(from + i * (i64)H * W);
        w = (words)(BRAIN ? floats_of_bfloats(h) : floats_of_halves(h));
#else
        typedef IN_T some
            __attribute__((vector_size(VLEN * sizeof(IN_T)), aligned(1), may_alias));
        const words one =
            (words) __builtin_convertvector(*(const some *)(from + i * (i64)H * W), sums32);
        w |= (one & (WORD == 4 ? 0xffu : 0xffffu)) << (32 / WORD * i);
#endif
    }
    return w ^ ZERO_WORD;
}

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

/* arg: data, its planes [N * GROUPS][CWP][PHASE_H][PHASE_W][PLANE]. What is behind the rows of a
 * plane is met by pixels that are not stored. */
void lay_data(void *const *arg)
{
    const IN_T *data = arg[0];
    u32 *planes = arg[1];
    PARALLEL_FOR_N(2)
    for (i64 image = 0; image < N * GROUPS; image++)
        for (i64 c = 0; c < CWP; c++) {
            u32 *to = planes + image * IMAGE_WORDS + c * CHANNEL_WORDS;
            const IN_T *from = data + (image * CI_G + c * WORD) * H * W;
            const int n = (int)MIN(WORD, CI_G - c * WORD);
            for (i64 i = 0; c >= CW && i < CHANNEL_WORDS;
                 i += VLEN) /* weights of 0 meet them */
                *(words_at *)(to + i) = (words){0};
            if (c >= CW)
                continue;
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

/* Word c of a tap of output channel `o` of a group; zeros behind the channels. */
INLINE u32 weight_word(const IN_T *weight, i64 o, i64 tap, i64 c)
{
    return c < CW ? dot_word_of(weight + (o * CI_G + c * WORD) * KH * KW + tap, KH * KW,
                                (int)MIN(WORD, CI_G - c * WORD))
                  : 0;
}

/* VLEN pixels from p on of one output plane; those that are none of its are left out. */
INLINE void put_pixels(OUT_T *plane, i64 p, vec sums)
{
    if (PITCH == OW) {
        if (p + VLEN <= OH * OW) {
            dot_put(plane + p, sums, VLEN);
        } else {
            OUT_T lane[VLEN];
            dot_put(lane, sums, VLEN);
            for (i64 l = 0; l < OH * OW - p; l++)
                plane[p + l] = lane[l];
        }
        return;
    }
    OUT_T lane[VLEN];
    dot_put(lane, sums, VLEN);
    i64 y = p / PITCH, x = p % PITCH;
    for (i64 l = 0; l < VLEN && y < OH; l += PITCH - x, x = 0, y++)
        for (i64 k = 0; k < VLEN - l && x + k < OW; k++)
            plane[y * OW + x + k] = lane[l + k];
}

#endif
