/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of quantised convolutions that become bytes. Macros: LIST_AT, bytes of the packed weights,
 * behind which lie what each channel begins with, EDGES times, and is multiplied by; PIXELS, of
 * all images; GROUPS CO CO_G CO_PAD (output channels of all, of a group, and with those that only
 * fill blocks); PUT_MOST, bytes that may be stored at once; INDEX; those of round_gpu.kernel.h.
 *
 *   packed [words][sums of EDGES * GROUPS * CO_PAD][scales of GROUPS * CO_PAD][16 bytes of X_ZERO]
 *
 * EDGES is more than 1 where zeros stand for what lies outside an image, which is not the data's
 * zero: what a window begins with knows which of its taps are outside. So many, at the most, are
 * CUT_T at its top, CUT_B at the bottom, CUT_L and CUT_R.
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_GPU_SUMS_GPU_H
#define OPTUNE_KERNELS_QUANTIZED_GPU_SUMS_GPU_H

#include "kernels/quantized/gpu/round_gpu.kernel.h"

#ifndef EDGES
#define EDGES 1
#endif
#define ALL_CHANNELS (GROUPS * CO_PAD)
#define LIST_BYTES ((i64)ALL_CHANNELS * 4)
#define SCALES_AT (LIST_AT + EDGES * LIST_BYTES)
#define ZEROS_AT (SCALES_AT + LIST_BYTES)

VECTOR(four_sums, int, 4);
VECTOR(four_scales, float, 4);

/* What `run` channels, 4 or a multiple, or 1 or 2, begin with in a window cut by `edge`. */
INLINE void starts_of(GLOBAL const unsigned char *RESTRICT packed, int edge, int group,
                      int channel, int *start, const int run)
{
    GLOBAL const int *const from =
        (GLOBAL const int *)(packed + LIST_AT) + (edge * GROUPS + group) * CO_PAD + channel;
    UNROLL
    for (int c = 0; c < run; c += 4) {
        if (run % 4 == 0) {
            const four_sums s = *(GLOBAL const four_sums *)(from + c);
            UNROLL
            for (int i = 0; i < 4; i++)
                start[c + i] = s.v[i];
        } else {
            UNROLL
            for (int i = 0; i < run; i++)
                start[i] = from[i];
        }
    }
}

/* And what they are multiplied by. */
INLINE void scales_of(GLOBAL const unsigned char *RESTRICT packed, int group, int channel,
                      float *scale, const int run)
{
    GLOBAL const float *const from =
        (GLOBAL const float *)(packed + SCALES_AT) + group * CO_PAD + channel;
    UNROLL
    for (int c = 0; c < run; c += 4) {
        if (run % 4 == 0) {
            const four_scales s = *(GLOBAL const four_scales *)(from + c);
            UNROLL
            for (int i = 0; i < 4; i++)
                scale[c + i] = s.v[i];
        } else {
            UNROLL
            for (int i = 0; i < run; i++)
                scale[i] = from[i];
        }
    }
}

/* Both, of windows inside the image. */
INLINE void ends_of(GLOBAL const unsigned char *RESTRICT packed, int group, int channel,
                    int *start, float *scale, const int run)
{
    starts_of(packed, 0, group, channel, start, run);
    scales_of(packed, group, channel, scale, run);
}

/* `run` channels of a pixel from `channel` of the group on. */
INLINE void put_run(GLOBAL unsigned char *RESTRICT out, INDEX at, int group, int channel,
                    const int *sum, const int *start, const float *scale, const int run)
{
    const int each = MIN(run, PUT_MOST);
    UNROLL
    for (int r = 0; r < run; r += each) {
        u32 b[16] = {0}, w[4];
        UNROLL
        for (int i = 0; i < each; i++)
            b[i] =
                round_whole(round_limited((float)(sum[r + i] + start[r + i]) * scale[r + i]));
        UNROLL
        for (int i = 0; i < 4; i++)
            w[i] = low_bytes(b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3]);
        if (at < PIXELS && (CO_G == CO_PAD || channel + r < CO_G))
            put_words(out + at * CO + group * CO_G + channel + r, w, each);
    }
}

/* A row of the fragments of products, `width` columns of them, is that channel: a thread, which has
 * two columns of each eight, has width / 4 neighbours. */
INLINE int channel_of_row(int row, const int width)
{
    return row / width * width + row % 8 / 2 * (width / 4) + row % width / 8 * 2 + row % 2;
}

#endif
