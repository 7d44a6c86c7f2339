/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planes of an input turned over, so that channels are innermost, padded by zeros:
 *   turned [image][y][x][group][CI_PAD]
 * Threads load and store 16 bytes at once, where planes are of whole chunks of that.
 * Macros: the shape, PLANE_IN, ELEM, its SIZE, ROUNDED(x) (an element as it is to lie there),
 * CI_PAD, INDEX. The plan's side is implicit_mma_turn of
 * kernels/convolution/implicit/implicit_mma_rows.h.
 */
#ifndef OPTUNE_KERNELS_CONV2D_TURN_GPU_H
#define OPTUNE_KERNELS_CONV2D_TURN_GPU_H

#define CHANNELS (GROUPS * CI_PAD) /* of a pixel of the turned input */
#define TURN_CHUNK (16 / SIZE)     /* elements */
#define TURN_CHUNKS (SQUARE / TURN_CHUNK)
#define TURN_LINE (SQUARE + 4 / SIZE) /* neighbours of a column are in neighbouring banks */

enum { SQUARE = 64, TURN_THREADS = 256 };

VECTOR(turn_chunk, ELEM, TURN_CHUNK);

/* Pixels of a channel, from `at` on. */
INLINE turn_chunk turn_load(GLOBAL const ELEM *RESTRICT plane, int at)
{
#if PLANE_IN % TURN_CHUNK == 0
    return *(GLOBAL const turn_chunk *)(plane + at);
#else
    turn_chunk x;
    UNROLL
    for (int e = 0; e < TURN_CHUNK; e++)
        x.v[e] = at + e < PLANE_IN ? plane[at + e] : 0;
    return x;
#endif
}

/* Squares of 64 pixels by 64 channels of a group through shared memory. */
KERNEL(TURN_THREADS, 1, 1)
turn(GLOBAL const ELEM *RESTRICT data, GLOBAL ELEM *RESTRICT turned)
{
    SHARED(pool, SQUARE * TURN_LINE * SIZE);
    LOCAL ELEM *const square = (LOCAL ELEM *)pool;
    const int image = BLOCK_Z / GROUPS, group = BLOCK_Z % GROUPS;
    const int p0 = BLOCK_X * SQUARE, c0 = BLOCK_Y * SQUARE;
    UNROLL
    for (int i = THREAD_X; i < SQUARE * TURN_CHUNKS; i += TURN_THREADS) {
        const int c = i / TURN_CHUNKS, p = i % TURN_CHUNKS * TURN_CHUNK;
        const bool inside = c0 + c < CI_G && p0 + p < PLANE_IN;
        turn_chunk x;
        if (inside)
            x = turn_load(data + ((INDEX)image * CI + group * CI_G + c0 + c) * PLANE_IN, p0 + p);
        UNROLL
        for (int e = 0; e < TURN_CHUNK; e++)
            square[c * TURN_LINE + p + e] = inside ? ROUNDED(x.v[e]) : 0;
    }
    BARRIER();
    UNROLL
    for (int i = THREAD_X; i < SQUARE * TURN_CHUNKS; i += TURN_THREADS) {
        const int p = i / TURN_CHUNKS, c = i % TURN_CHUNKS * TURN_CHUNK;
        turn_chunk x;
        UNROLL
        for (int e = 0; e < TURN_CHUNK; e++)
            x.v[e] = square[(c + e) * TURN_LINE + p];
        if (c0 + c < CI_PAD && p0 + p < PLANE_IN)
            STORE_VECTOR((GLOBAL turn_chunk *)(turned +
                                               ((INDEX)image * PLANE_IN + p0 + p) * CHANNELS +
                                               group * CI_PAD + c0 + c),
                         x);
    }
}

#endif
