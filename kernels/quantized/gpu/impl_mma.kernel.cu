/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d_mma.cuda: a product by the tensor-core tile of
 * kernels/matmul/gpu/mma_tile_gpu.kernel.h. Rows are the pixels of all images, columns the output
 * channels of a group, the depth its taps and, innermost, its channels, which lie so already.
 * Macros beside those of conv_gpu.kernel.h and the tile's: DEPTH TILES GROUP.
 *
 * The one idea: a thread has two columns of each of its products, and weights are packed so that
 * these are neighbouring channels: 2 * NT bytes that it stores at once.
 */
#include "kernels/quantized/gpu/lay_gpu.kernel.h"

#if !LAYS
#define RUN (2 * (WN / 8)) /* channels of a thread */
#define WORDS (LINE / 4)
#define PACKED_GROUP(e) ((e) / ((i64)WORDS * CO_PAD))
#define PACKED_WORD(e) ((e) % WORDS)
#define PACKED_CHANNEL(e) channel_of_row((int)((e) / WORDS % CO_PAD), WN)
#include "kernels/quantized/gpu/conv_gpu.kernel.h"

#define TF32 0
#define A_ACROSS 0
#define B_ACROSS 0
#define SUM int
#define ELEM unsigned char
#define SIZE 1
#include "kernels/matmul/gpu/mma_tile_gpu.kernel.h"

#define CHANNELS (GROUPS * CI_PAD) /* of a pixel */
#define OUTSIDE (X_ZERO != 0 && PT + PB + PL + PR != 0)
#define WEIGHT_ROWS BN
#define PIXEL_ROWS BM
#include "kernels/convolution/implicit/mma_copies_gpu.kernel.h"

#define BLOCKS_M ((int)CEIL_DIV(PIXELS, BM))
#define BLOCKS_N (CO_PAD / BN)
#define PART_TILES CEIL_DIV(TILES, SPLITS)

#define FILL(to_a, to_b)                                                                       \
    {                                                                                          \
        fill_pixels(&next, to_a, input, p, filled);                                            \
        fill_weights(&next, to_b);                                                             \
        filled++;                                                                              \
    }

KERNEL(THREADS, 1, 1)
convolve(GLOBAL const ELEM *RESTRICT data, GLOBAL const ELEM *RESTRICT packed,
         GLOBAL STORED *RESTRICT out)
{
    SHARED(pool, STAGES * STAGE_BYTES);
    const int channels = BLOCK_Z / SPLITS, part = BLOCK_Z % SPLITS;
    const tile_start at = tile_start_of(BLOCK_X, BLOCKS_M, BLOCKS_N, GROUP);
    const INDEX m0 = at.m;
    const int n0 = (int)at.n;
    const int first = part * PART_TILES, tiles = MIN(PART_TILES, TILES - first);
    GLOBAL const ELEM *RESTRICT const weights = packed + ((INDEX)channels * CO_PAD + n0) * LINE;
    GLOBAL const ELEM *RESTRICT const input = data + channels * CI_PAD;
    own p[OWN];
    int acc[MT][NT][4];
    mma_clear(acc);
    UNROLL
    for (int i = 0; i < OWN; i++)
        p[i] = own_of(m0 + THREAD_X / CHUNKS + i * ROW_STEP);
    int filled = first;
    copies next = copies_of(weights, input, first * DEPTH);
#if OUTSIDE
    next.outside = packed + ZEROS_AT;
    OPAQUE_POINTER(next.outside);
#endif
    TILE_LOOP(pool, acc, tiles, FILL);

    const int channel = n0 + THREAD_X / 32 % WARPS_N * WN + THREAD_X % 4 * RUN;
    int start[RUN];
    float scale[RUN];
    if (SPLITS == 1)
        ends_of(packed, channels, channel, start, scale, RUN);
    UNROLL
    for (int i = 0; i < MT; i++) {
        UNROLL
        for (int e = 0; e < 4; e += 2) {
            int sum[RUN];
            UNROLL
            for (int c = 0; c < RUN; c++)
                sum[c] = acc[i][c / 2][e + c % 2];
            PUT(out, packed, part, m0 + TILE_ROW(i) + 4 * e, channels, channel, sum, RUN);
        }
    }
}
#endif
