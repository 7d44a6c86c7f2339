/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planes of an input turned over, so that channels are innermost, padded by zeros:
 *   turned [image][y][x][group][CI_PAD]
 * Macros: the shape, PLANE_IN, ELEM, ROUNDED(x) (an element as it is to lie there), CI_PAD, INDEX.
 * The plan's side is implicit_mma_turn of kernels/convolution/implicit/implicit_mma_rows.h.
 */
#ifndef OPTUNE_KERNELS_CONV2D_TURN_GPU_H
#define OPTUNE_KERNELS_CONV2D_TURN_GPU_H

#define CHANNELS (GROUPS * CI_PAD) /* of a pixel of the turned input */

enum { SQUARE = 32, LINES = 8 };

/* Squares of 32 pixels by 32 channels of a group through shared memory. */
KERNEL(SQUARE, LINES, 1)
turn(GLOBAL const ELEM *RESTRICT data, GLOBAL ELEM *RESTRICT turned)
{
    SHARED(pool, SQUARE * (SQUARE + 1) * sizeof(ELEM));
    LOCAL ELEM *const square = (LOCAL ELEM *)pool;
    const int image = BLOCK_Z / GROUPS, group = BLOCK_Z % GROUPS;
    const int p0 = BLOCK_X * SQUARE, c0 = BLOCK_Y * SQUARE;
    UNROLL
    for (int i = THREAD_Y; i < SQUARE; i += LINES) {
        const int c = c0 + i, p = p0 + THREAD_X;
        square[i * (SQUARE + 1) + THREAD_X] =
            c < CI_G && p < PLANE_IN
                ? ROUNDED(data[((INDEX)image * CI + group * CI_G + c) * PLANE_IN + p])
                : 0;
    }
    BARRIER();
    UNROLL
    for (int i = THREAD_Y; i < SQUARE; i += LINES) {
        const int c = c0 + THREAD_X, p = p0 + i;
        if (c < CI_PAD && p < PLANE_IN)
            turned[((INDEX)image * PLANE_IN + p) * CHANNELS + group * CI_PAD + c] =
                square[THREAD_X * (SQUARE + 1) + i];
    }
}

#endif
