/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tile of kernels/matmul/gpu/mma_tile_gpu.kernel.h multiplies in a convolution whose
 * channels are innermost, chunk by chunk of 16 bytes: weights [row][LINE], and the pixels of the
 * output, taps along the depth and channels innermost. Macros: the shape; WEIGHT_ROWS and
 * PIXEL_ROWS, of a block; ELEM SIZE KB DEPTH INDEX; CI_PAD, channels of a group in whole chunks;
 * CHANNELS, elements of a pixel; LINE; those of pixels_gpu.kernel.h. Optional: PASSES, how often
 * the taps are gone through; OUTSIDE, 1 where a tap outside the image is a chunk of the body's
 * (copies.outside), not zeros.
 */
#ifndef OPTUNE_KERNELS_CONV2D_MMA_COPIES_GPU_H
#define OPTUNE_KERNELS_CONV2D_MMA_COPIES_GPU_H

#ifndef PASSES
#define PASSES 1
#endif
#ifndef OUTSIDE
#define OUTSIDE 0
#endif

#define CHUNKS (KB / 16)
#define EACH (16 / SIZE) /* elements of a chunk */
#define ROW_STEP (THREADS / CHUNKS)
#define OWN CEIL_DIV(PIXEL_ROWS, ROW_STEP) /* pixels of a thread */

/* A thread's copies of weights and pixels, tile after tile of the depth. Its next chunk of the
 * weights is at `weights`. Pixels look at tap (.., kx), whose bit is `bit`; `input` is what
 * that tap and the next chunk's channel are from where tap 0 looks; `channel` is that channel, or
 * the tile's first one where a tile lies in one tap, which all threads then leave together. */
typedef struct copies {
    GLOBAL const ELEM *weights, *input;
#if OUTSIDE
    GLOBAL const ELEM *outside;
#endif
    u32 bit;
    int tap, kx, channel;
} copies;

#define ONE_TAP (CI_PAD % DEPTH == 0)
/* A tile is at most one tap further than the one before. */
#define STEPS_TAPS (CI_PAD >= DEPTH && PASSES == 1)

/* Where tap `t` looks, from where tap 0 does. */
#define TAP_AT(t) (((t) / KW * DH * W + (t) % KW * DW) * CHANNELS)

/* The chunk of the turned input and the tap of element k of the depth. `input` is the group's first
 * channel. */
INLINE void find_tap(copies *next, GLOBAL const ELEM *input, int k)
{
    next->tap = k / CI_PAD;
#if PASSES > 1
    next->tap %= TAPS; /* behind the last pass weights are zeros */
#endif
    next->kx = next->tap % KW;
    next->bit = next->tap < 32 ? (u32)1 << next->tap : 0;
    next->channel = k % CI_PAD;
    next->input = input + (TAP_AT(next->tap) + next->channel);
}

/* From element k of the depth on. */
INLINE copies copies_of(GLOBAL const ELEM *weights, GLOBAL const ELEM *input, int k)
{
    const int row = THREAD_X / CHUNKS, c = THREAD_X % CHUNKS;
    copies next;
    next.weights = weights + (INDEX)row * LINE + k + c * EACH;
    find_tap(&next, input, k + (ONE_TAP ? 0 : c * EACH));
    if (ONE_TAP)
        next.input += c * EACH;
    return next;
}

INLINE void fill_weights(copies *next, LOCAL byte *to)
{
    const int row = THREAD_X / CHUNKS, c = THREAD_X % CHUNKS;
    LOCAL byte *const first = to + tile_place(CHUNKS, row, c);
    UNROLL
    for (int i = 0; i < CEIL_DIV(WEIGHT_ROWS, ROW_STEP); i++) {
        const int r = row + i * ROW_STEP;
        if (WEIGHT_ROWS % ROW_STEP == 0 || r < WEIGHT_ROWS)
            cp_async_16(ROW_STEP % TILE_PERIOD == 0 ? first + i * ROW_STEP * KB
                                                    : to + tile_place(CHUNKS, r, c),
                        next->weights + (INDEX)(i * ROW_STEP) * LINE);
    }
    next->weights += DEPTH;
}

/* The pixels that a thread copies: where tap 0 looks, in elements of the turned input, and a bit
 * for each tap that looks inside. More taps are asked one by one. */
#define SEEN (TAPS <= 32)
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

/* The next tile is `t` of the depth; `input` is the group's first channel. What a copy of no bytes
 * names is not read. */
INLINE void fill_pixels(copies *next, LOCAL byte *to, GLOBAL const ELEM *input,
                        const own p[OWN], int t)
{
    const int row = THREAD_X / CHUNKS, c = THREAD_X % CHUNKS;
    LOCAL byte *const first = to + tile_place(CHUNKS, row, c);
    UNROLL
    for (int i = 0; i < OWN; i++) {
        const int r = row + i * ROW_STEP;
        const bool inside = SEEN ? (p[i].seen & next->bit) != 0
                                 : next->tap < TAPS && look(&p[i].p, next->tap) >= 0;
        if (PIXEL_ROWS % ROW_STEP == 0 || r < PIXEL_ROWS) {
            LOCAL byte *const at = ROW_STEP % TILE_PERIOD == 0 ? first + i * ROW_STEP * KB
                                                               : to + tile_place(CHUNKS, r, c);
#if OUTSIDE
            cp_async_16(at, inside ? next->input + p[i].at : next->outside);
#else
            cp_async_16_zero(at, next->input + p[i].at, inside ? 16 : 0);
#endif
        }
    }
    if (STEPS_TAPS) {
        /* No branch, so that products may stand between. */
        const int channel = next->channel + DEPTH, kx = next->kx + 1;
        const bool wraps = channel >= CI_PAD, row = wraps && kx == KW;
        const int tap_step = DW * CHANNELS - CI_PAD, row_step = (DH * W - KW * DW) * CHANNELS;
        next->input += DEPTH + (row ? tap_step + row_step : wraps ? tap_step : 0);
        next->channel = !wraps ? channel : ONE_TAP ? 0 : channel - CI_PAD;
        next->bit = wraps ? next->bit << 1 : next->bit;
        next->tap += wraps;
        next->kx = row ? 0 : wraps ? kx : next->kx;
    } else {
        find_tap(next, input, (t + 1) * DEPTH + c * EACH);
    }
}

#endif
