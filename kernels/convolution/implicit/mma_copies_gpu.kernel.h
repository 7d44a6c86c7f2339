/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tile of kernels/matmul/gpu/mma_tile_gpu.kernel.h multiplies in a convolution whose
 * channels are innermost, chunk by chunk of 16 bytes: weights [row][LINE], and the pixels of the
 * output, taps along the depth and channels innermost. Macros: WEIGHT_ROWS and PIXEL_ROWS, of a
 * block; SIZE KB; LINE; those of taps_gpu.kernel.h. Optional: OUTSIDE, 1 where a tap outside the
 * image is a chunk of the body's (copies.outside), not zeros.
 */
#ifndef OPTUNE_KERNELS_CONV2D_MMA_COPIES_GPU_H
#define OPTUNE_KERNELS_CONV2D_MMA_COPIES_GPU_H

#include "kernels/convolution/implicit/taps_gpu.kernel.h"

#ifndef OUTSIDE
#define OUTSIDE 0
#endif

#define CHUNKS (KB / 16)
#define EACH (16 / SIZE) /* elements of a chunk */
#define ROW_STEP (THREADS / CHUNKS)
#define OWN CEIL_DIV(PIXEL_ROWS, ROW_STEP) /* pixels of a thread */

/* A thread's copies of weights and pixels, tile after tile of the depth. Its next chunk of the
 * weights is at `weights`. */
typedef struct copies {
    GLOBAL const ELEM *weights;
#if OUTSIDE
    GLOBAL const ELEM *outside;
#endif
    taps look;
} copies;

/* From element k of the depth on; `input` is the group's first channel. */
INLINE copies copies_of(GLOBAL const ELEM *weights, GLOBAL const ELEM *input, int k)
{
    const int row = THREAD_X / CHUNKS, c = THREAD_X % CHUNKS;
    copies next;
    next.weights = weights + (INDEX)row * LINE + k + c * EACH;
    next.look = taps_of(input, k, c * EACH);
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
        const bool inside = taps_inside(&next->look, &p[i]);
        if (PIXEL_ROWS % ROW_STEP == 0 || r < PIXEL_ROWS) {
            LOCAL byte *const at = ROW_STEP % TILE_PERIOD == 0 ? first + i * ROW_STEP * KB
                                                               : to + tile_place(CHUNKS, r, c);
#if OUTSIDE
            cp_async_16(at, inside ? next->look.input + p[i].at : next->outside);
#else
            cp_async_16_zero(at, next->look.input + p[i].at, inside ? 16 : 0);
#endif
        }
    }
    taps_step(&next->look, input, t + 1, c * EACH);
}

#endif
