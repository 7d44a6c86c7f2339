/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What surrounds the products of quantized_conv2d on GPUs, whatever multiplies: packed weights, and
 * sums that become bytes. Macros from the plan (kernels/quantized/gpu/conv_gpu.h): the product's
 * shape, where windows are laid that of a 1x1 convolution of them; TERMS W_TAPS W_CI, of the call's
 * weight; CI_PAD; CO_PAD; PASSES (2: a weight of 16 bits is the sum of two of 8); SPLITS, INDEX,
 * FLAT; W_T, X_ZERO and those of sums_gpu.kernel.h. A body has a kernel `pack` of its own, or
 * defines what word `e` of the packed ones is: PACKED_GROUP(e), PACKED_CHANNEL(e), PACKED_WORD(e),
 * of the depth.
 *
 *   partial [SPLITS][pixel][group][CO_PAD], of 32 bits
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_GPU_CONV_GPU_H
#define OPTUNE_KERNELS_QUANTIZED_GPU_CONV_GPU_H

#include "kernels/quantized/gpu/round_gpu.kernel.h"

#define TRANSPOSED 0
#define WEIGHT_GRADIENT 0
#include "kernels/convolution/implicit/pixels_gpu.kernel.h"

#include "kernels/quantized/gpu/sums_gpu.kernel.h"

/* ---- sums of parts ------------------------------------------------------------------------ */

/* Sums of a block's share of the depth: whole, as they are. */
INLINE void put_part(GLOBAL int *RESTRICT partial, int part, INDEX at, int group, int channel,
                     const int *sum, const int run)
{
    GLOBAL int *const to = partial + ((part * PIXELS + at) * GROUPS + group) * CO_PAD + channel;
    UNROLL
    for (int r = 0; r < run && at < PIXELS; r += 4) {
        if (run % 4 == 0) {
            const four_sums x = {{sum[r], sum[r + 1], sum[r + 2], sum[r + 3]}};
            STORE_VECTOR((GLOBAL four_sums *)(to + r), x);
        } else {
            UNROLL
            for (int i = 0; i < run; i++)
                to[i] = sum[i];
        }
    }
}

#if SPLITS > 1
#define STORED int
#define PUT(out, packed, part, at, group, channel, sum, run)                                   \
    put_part(out, part, at, group, channel, sum, run)
#else
#define STORED unsigned char
#define PUT(out, packed, part, at, group, channel, sum, run)                                   \
    put_run(out, at, group, channel, sum, start, scale, run)
#endif

#if SPLITS > 1
KERNEL(FLAT, 1, 1)
finish(GLOBAL const int *RESTRICT partial, GLOBAL const unsigned char *RESTRICT packed,
       GLOBAL unsigned char *RESTRICT out)
{
    const INDEX e = (INDEX)BLOCK_X * FLAT + THREAD_X, at = e / (ALL_CHANNELS / 4);
    const int group = (int)(e / (CO_PAD / 4) % GROUPS), channel = (int)(e % (CO_PAD / 4)) * 4;
    if (at < PIXELS && channel < CO_G) {
        int sum[4] = {0, 0, 0, 0}, start[4];
        float scale[4];
        UNROLL
        for (int s = 0; s < SPLITS; s++) {
            const four_sums x =
                *(GLOBAL const four_sums *)(partial + (s * PIXELS * ALL_CHANNELS + e * 4));
            UNROLL
            for (int i = 0; i < 4; i++)
                sum[i] += x.v[i];
        }
        ends_of(packed, group, channel, start, scale, 4);
        put_run(out, at, group, channel, sum, start, scale, 4);
    }
}
#endif

/* ---- weights ----------------------------------------------------------------------------- */

/* Of a weight of 16 bits, -256 .. 254, one of the two of 8 whose sum it is. */
INLINE int of_pass(int w, int pass)
{
    return PASSES == 1 ? w : pass == 0 ? w >> 1 : w - (w >> 1);
}

#ifdef PACKED_WORD
/* Byte `k` of the depth of channel `o` of all. */
INLINE int weight_byte(GLOBAL const W_T *RESTRICT weight, i64 o, int k)
{
    const int pass = k / (TAPS * CI_PAD), term = k % (TAPS * CI_PAD);
    if (term >= TERMS || pass >= PASSES)
        return 0;
    return of_pass(weight[(o * W_CI + term % W_CI) * W_TAPS + term / W_CI], pass);
}

/* A thread a word. */
KERNEL(FLAT, 1, 1)
pack(GLOBAL const W_T *RESTRICT weight, GLOBAL u32 *RESTRICT packed)
{
    const i64 e = (i64)BLOCK_X * FLAT + THREAD_X;
    if (e < LIST_AT / 4) {
        const int group = (int)PACKED_GROUP(e), f = (int)PACKED_CHANNEL(e);
        const int k = (int)PACKED_WORD(e) * 4;
        const i64 o = (i64)group * CO_G + f;
        u32 b[4];
        UNROLL
        for (int i = 0; i < 4; i++)
            b[i] = f < CO_G ? (u32)weight_byte(weight, o, k + i) : 0;
        packed[e] = low_bytes(b[0], b[1], b[2], b[3]);
    } else if (e < LIST_AT / 4 + 4) {
        packed[e + (ZEROS_AT - LIST_AT) / 4] = ZEROS;
    }
}
#endif

/* Whether the tap of a channel's term is inside the image in windows cut by `edge`. */
INLINE bool tap_inside(int edge, int term)
{
#if EDGES > 1
    const int tap = term % W_TAPS, y = tap / KW, x = tap % KW, right = edge % (CUT_R + 1);
    const int left = edge / (CUT_R + 1) % (CUT_L + 1);
    const int bottom = edge / (CUT_R + 1) / (CUT_L + 1) % (CUT_B + 1);
    const int top = edge / (CUT_R + 1) / (CUT_L + 1) / (CUT_B + 1);
    return y >= top && y < KH - bottom && x >= left && x < KW - right;
#else
    (void)edge;
    (void)term;
    return true;
#endif
}

/* A thread a channel of a way to be cut: the bias less what the data's zero brings, and the
 * scale. */
KERNEL(FLAT, 1, 1)
lists(GLOBAL const W_T *RESTRICT weight, GLOBAL const int *RESTRICT bias,
      GLOBAL const float *RESTRICT scale, GLOBAL unsigned char *RESTRICT packed)
{
    const int e = BLOCK_X * FLAT + THREAD_X, edge = e / ALL_CHANNELS, f = e % CO_PAD;
    const i64 o = (i64)(e % ALL_CHANNELS / CO_PAD) * CO_G + f;
    if (edge < EDGES) {
        int all = 0;
        for (int k = 0; f < CO_G && k < TERMS; k++)
            all += tap_inside(edge, k) ? weight[o * TERMS + k] : 0;
        ((GLOBAL int *)(packed + LIST_AT))[e] = f < CO_G ? bias[o] - (X_ZERO)*all : 0;
        if (edge == 0)
            ((GLOBAL float *)(packed + SCALES_AT))[e] = f < CO_G ? scale[o] : 0;
    }
}

#endif
