/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of narrow numbers, NCHW: what bodies of vectors and of tiles share.
 *
 * The one idea: planes of words. A word is WORD channels of one pixel
 * (kernels/matmul/dot.kernel.h), and the data is laid out anew in words with the padding in them, a
 * plane for each residue of rows and columns by the strides. Then an output pixel p, counted with
 * the pitch of a plane, meets tap (y, x) of the kernel at pixel p plus a constant, whichever row it
 * is in: pixels side by side are lanes of a vector, or rows of a tile, with no column of patches
 * made. Those beyond the end of an output's row are computed and not stored; what is behind the
 * rows of a plane is met by these alone.
 *
 * Macros from the plan: N GROUPS CI_G H W CO_G KH KW OH OW SH SW PT PL DH DW, CW (words of a
 * group's channels), PHASE_H PHASE_W (residues of rows, of columns), PITCH (of a plane's rows),
 * ROWS (of a plane), PLANE (pixels of it, and room), those of dot.kernel.h.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_WORDS_H
#define OPTUNE_KERNELS_CONVOLUTION_WORDS_H

#include "kernels/common/held.kernel.h"
#include "kernels/matmul/dot.kernel.h"

#define PIXELS ((OH - 1) * PITCH + OW) /* of an output, those that are not stored among them */
/* Of zero, which an unsigned number has 128 added to. */
#define ZERO_WORD (DOT == DOT_I8 ? 0x80808080u : 0u)

/* Where tap (y, x) of pixel 0 is, in pixels from the first plane on. */
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
#elif DOT_SPLIT
        w = dot_split(*(const halves_at *)(from + i * (i64)H * W));
#else
        typedef IN_T some
            __attribute__((vector_size(VLEN * sizeof(IN_T)), aligned(1), may_alias));
        some x = *(const some *)(from + i * (i64)H * W);
        HELD(x);
        const words one = (words)__builtin_convertvector(x, sums32);
        w |= (one & (WORD == 4 ? 0xffu : 0xffffu)) << (32 / WORD * i);
#endif
    }
    return w ^ ZERO_WORD;
}

/* Word c of a tap of output channel `o` of a group; zeros behind the channels. */
INLINE u32 weight_word(const IN_T *weight, i64 o, i64 tap, i64 c)
{
    return c < CW ? dot_word_of(weight + (o * CI_G + c * WORD) * KH * KW + tap, KH * KW,
                                (int)MIN(WORD, CI_G - c * WORD))
                  : 0;
}

/* VLEN pixels from p on of the output plane that begins at out[o], with what is fused behind; those
 * that are none of its are left out. */
INLINE void put_pixels(OUT_T *out, i64 o, i64 p, vec sums, void *const *arg)
{
    const i64 y = PITCH == OW ? 0 : p / PITCH, x = PITCH == OW ? p : p % PITCH;
    const i64 end = PITCH == OW ? OH * OW : OW; /* of what lies side by side */
    if (x + VLEN <= end && y < OH) {
        const i64 at = o + y * OW + x;
        dot_put(out + at, dot_fused(sums, arg, at, VLEN), VLEN);
        return;
    }
    DTYPE lane[2 * VLEN] __attribute__((aligned(VEC_BYTES)));
    *(vec *)lane = *(vec *)(lane + VLEN) = sums;
    i64 from = x, row = y;
    for (i64 l = 0; l < VLEN && row < OH; l += PITCH - from, from = 0, row++) {
        const i64 at = o + row * OW + from;
        const int n = (int)MIN(VLEN - l, end - from);
        if (n > 0)
            dot_put(out + at, dot_fused(load(lane + l), arg, at, n), n);
        if (PITCH == OW)
            return;
    }
}

#endif
