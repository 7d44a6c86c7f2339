/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d_tile.gpu: a product by the register tile of
 * kernels/matmul/gpu/tile_gpu.kernel.h, whose elements are words of four bytes of the depth. Rows
 * are the pixels of all images, columns the output channels of a group. Macros beside those of
 * conv_gpu.kernel.h and the tile's (BK in words): WORDS, of the depth, in whole tiles.
 *
 *   packed [group][WORDS][CO_PAD] words
 *
 * A thread's columns lie apart in the tile, but are neighbouring channels: it stores RUN bytes at
 * once.
 */
#include "kernels/quantized/gpu/lay_gpu.kernel.h"

#if !LAYS
#define LDA BM
#define LDB BN
#define DTYPE int
#define TILE_FMA(x, w, sum) DOT4(x, w, sum)
#include "kernels/matmul/gpu/tile_stage_gpu.kernel.h"

#define PACKED_GROUP(e) ((e) / ((i64)WORDS * CO_PAD))
#define PACKED_WORD(e) ((e) / CO_PAD % WORDS)
#define PACKED_CHANNEL(e) TILE_RUN_PLACED((e) % CO_PAD, RUN)
#define RUN MIN(TN, 16)
#include "kernels/quantized/gpu/conv_gpu.kernel.h"

#define ELEM unsigned char
#define DEPTH (BK * 4)
#define CHANNELS (GROUPS * CI_PAD) /* of a pixel */
#include "kernels/convolution/implicit/taps_gpu.kernel.h"

#define STEPS (WORDS / BK)
#define TILE (BK * (BM + BN))
/* A thread stages so many chunks of 16 bytes: of a pixel each, neighbours of neighbouring ones. */
#define CHUNKS (BM * BK / 4)
#define OWN CEIL_DIV(CHUNKS, THREADS)
#define IN_TILE(v) (CHUNKS % THREADS == 0 || (v) < CHUNKS)
#define OF_PIXEL(v) ((v) % BM)
#define OF_DEPTH(v) ((v) / BM * 16)
/* Where a tile lies in one tap all chunks look from the same place, and how far behind it a chunk
 * is belongs to where its pixel looks. */
#define LOOKS (ONE_TAP ? 1 : OWN)
#define LOOK_OF(i) (ONE_TAP ? 0 : (i))
#define LOOK_DEPTH(v) (ONE_TAP ? 0 : OF_DEPTH(v))

/* Tile `step`, and on to the next. */
INLINE void fetch_pixels(GLOBAL const unsigned char *RESTRICT data, const own p[OWN],
                         taps look[LOOKS], int step, int thread, words_4 next[OWN], bool on)
{
    UNROLL
    for (int i = 0; i < OWN; i++) {
        const taps *from = &look[LOOK_OF(i)];
        if (on && IN_TILE(thread + i * THREADS) && taps_inside(from, &p[i])) {
            next[i] = *(GLOBAL const words_4 *)(from->input + p[i].at);
        } else {
            UNROLL
            for (int w = 0; w < 4; w++)
                next[i].v[w] = ZEROS;
        }
    }
    UNROLL
    for (int i = 0; i < LOOKS; i++)
        taps_step(&look[i], data, step + 1, LOOK_DEPTH(thread + i * THREADS));
}

INLINE void store_pixels(LOCAL int *tile, int thread, const words_4 next[OWN])
{
    UNROLL
    for (int i = 0; i < OWN; i++) {
        const int v = thread + i * THREADS;
        if (IN_TILE(v)) {
            UNROLL
            for (int w = 0; w < 4; w++)
                tile[(v / BM * 4 + w) * BM + v % BM] = (int)next[i].v[w];
        }
    }
}

KERNEL(THREADS, 1, 1)
convolve(GLOBAL const unsigned char *RESTRICT data, GLOBAL const unsigned char *RESTRICT packed,
         GLOBAL STORED *RESTRICT out)
{
    SHARED(pool, STAGES * TILE * 4);
    LOCAL int *const tile = (LOCAL int *)pool;
    const int thread = THREAD_X, ty = TILE_TY(thread), tx = TILE_TX(thread);
    const int group = BLOCK_Z / SPLITS, part = BLOCK_Z % SPLITS, n0 = BLOCK_Y * BN;
    const int first = part * CEIL_DIV(STEPS, SPLITS);
    const int last = MIN(STEPS, first + CEIL_DIV(STEPS, SPLITS));
    const INDEX m0 = (INDEX)BLOCK_X * BM;
    GLOBAL const int *RESTRICT const weights =
        (GLOBAL const int *)packed + (INDEX)group * WORDS * CO_PAD + n0;
    GLOBAL const unsigned char *RESTRICT const input = data + group * CI_PAD;
    own p[OWN];
    taps look[LOOKS];
    words_4 next_a[OWN];
    tile_vec next_b[TILE_VECS(BN)];
    int acc[TM][TN];
    tile_clear(acc);
    UNROLL
    for (int i = 0; i < OWN; i++) {
        const int v = thread + i * THREADS;
        p[i] = own_of(m0 + OF_PIXEL(v));
        p[i].at += ONE_TAP ? OF_DEPTH(v) : 0;
        look[LOOK_OF(i)] = taps_of(input, first * DEPTH, LOOK_DEPTH(v));
    }

#define FETCH_TILES(s, on)                                                                     \
    tile_fetch(weights + (INDEX)(first + (s)) * BK * CO_PAD, CO_PAD, BN, thread, next_b, on);  \
    fetch_pixels(input, p, look, first + (s), thread, next_a, on);
#define STORE_TILES(to)                                                                        \
    tile_store((to) + BK * BM, BN, thread, next_b);                                            \
    store_pixels(to, thread, next_a);
    TILE_PRODUCT(last - first, tile, TILE, ty, tx, acc)

    UNROLL
    for (int j = 0; j < TN; j += RUN) {
        const int channel = n0 + TILE_RUN_COL(j, tx, RUN);
        int start[RUN];
        float scale[RUN];
        if (SPLITS == 1)
            ends_of(packed, group, channel, start, scale, RUN);
        UNROLL
        for (int i = 0; i < TM; i++) {
            int sum[RUN];
            UNROLL
            for (int c = 0; c < RUN; c++)
                sum[c] = acc[i][j + c];
            PUT(out, packed, part, m0 + TILE_ROW(i, ty), group, channel, sum, RUN);
        }
    }
}
#endif
