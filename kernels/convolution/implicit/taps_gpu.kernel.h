/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread's pixels look along the depth of a convolution whose channels are innermost, taps
 * by channels, tile after tile: for bodies that bring them by chunks of 16 bytes, whatever
 * multiplies. Macros: the shape; ELEM INDEX; DEPTH, elements of a tile; CI_PAD, channels of a group
 * in whole chunks; CHANNELS, elements of a pixel; those of pixels_gpu.kernel.h. Optional: PASSES,
 * how often the taps are gone through.
 */
#ifndef OPTUNE_KERNELS_CONV2D_TAPS_GPU_H
#define OPTUNE_KERNELS_CONV2D_TAPS_GPU_H

#ifndef PASSES
#define PASSES 1
#endif

/* What is looked at next: `tap`, whose bit is `bit`. `input` is what that tap and the next chunk's
 * channel are from where tap 0 looks; `channel` is that channel, or the tile's first one where a
 * tile lies in one tap, which all threads then leave together. */
typedef struct taps {
    GLOBAL const ELEM *input;
    u32 bit;
    int tap, channel;
} taps;

#define ONE_TAP (CI_PAD % DEPTH == 0)
/* A tile is at most one tap further than the one before. */
#define STEPS_TAPS (CI_PAD >= DEPTH && PASSES == 1)

/* Where tap `t` looks, from where tap 0 does. */
#define TAP_AT(t) (((t) / KW * DH * W + (t) % KW * DW) * CHANNELS)

/* The pixels of a thread: where tap 0 looks, in elements of the input, and a bit for each tap that
 * looks inside. More taps are asked one by one. */
#define SEEN (TAPS <= 32)
/* The bits of taps that are the last of their row. */
#define ROW_ENDS                                                                               \
    ((u32)((((i64)1 << MIN(TAPS, 32)) - 1) / (((i64)1 << MIN(KW, 32)) - 1)) << (KW - 1) % 32)

typedef struct own {
    pixel p;
    INDEX at;
    u32 seen;
} own;

INLINE own own_of(INDEX n)
{
    own o;
    o.p = pixel_of(n, PLANE_IN, 0);
    o.at = (o.p.plane + o.p.y * W + o.p.x) * CHANNELS;
    o.seen = 0;
    UNROLL_BY(SEEN ? TAPS : 1)
    for (int tap = 0; SEEN && tap < TAPS; tap++)
        o.seen |= look(&o.p, tap) < 0 ? 0 : (u32)1 << tap;
    return o;
}

/* Whether the next tap of that pixel is inside the image. */
INLINE bool taps_inside(const taps *next, const own *o)
{
    return SEEN ? (o->seen & next->bit) != 0 : next->tap < TAPS && look(&o->p, next->tap) >= 0;
}

/* The chunk of the input and the tap of element k of the depth. `input` is the group's first
 * channel. */
INLINE void taps_find(taps *next, GLOBAL const ELEM *input, int k)
{
    next->tap = k / CI_PAD;
#if PASSES > 1
    next->tap %= TAPS; /* behind the last pass weights are zeros */
#endif
    next->bit = next->tap < 32 ? (u32)1 << next->tap : 0;
    next->channel = k % CI_PAD;
    next->input = input + (TAP_AT(next->tap) + next->channel);
}

/* From element k of the depth on, where a thread's chunk is `chunk` elements behind the tile's
 * first. */
INLINE taps taps_of(GLOBAL const ELEM *input, int k, int chunk)
{
    taps next;
    taps_find(&next, input, k + (ONE_TAP ? 0 : chunk));
    if (ONE_TAP)
        next.input += chunk;
    return next;
}

/* To the next tile, which is `t` of the depth. */
INLINE void taps_step(taps *next, GLOBAL const ELEM *input, int t, int chunk)
{
    if (STEPS_TAPS) {
        /* No branch, so that products may stand between. */
        const int channel = next->channel + DEPTH;
        const bool ends = SEEN ? (next->bit & ROW_ENDS) != 0 : next->tap % KW == KW - 1;
        const bool wraps = channel >= CI_PAD, row = wraps && ends;
        const int tap_step = DW * CHANNELS - CI_PAD, row_step = (DH * W - KW * DW) * CHANNELS;
        next->input += DEPTH + (row ? tap_step + row_step : wraps ? tap_step : 0);
        next->channel = !wraps ? channel : ONE_TAP ? 0 : channel - CI_PAD;
        next->bit = wraps ? next->bit << 1 : next->bit;
        next->tap += wraps;
    } else {
        *next = taps_of(input, t * DEPTH, chunk);
    }
}

#endif
