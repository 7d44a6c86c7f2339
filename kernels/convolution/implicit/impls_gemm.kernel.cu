/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution as a product whose left operand is never stored (bodies of conv2d and of its two
 * gradients): rows are pixels of the output over all images, M = N * OH * OW, columns the
 * output channels of one group, the depth its taps and input channels. Macros from the plan:
 * the shape, the register tile of kernels/matmul/gpu/tile_gpu.kernel.h, CI_PAD (channels of a
 * tap in the depth), DEPTH, CO_PAD, SPLIT (parts of the depth, each a block of its own), VA
 * (pixels fetched at once), INDEX; TRANSPOSED and WEIGHT_GRADIENT of pixels_gpu.kernel.h.
 *
 * The one idea: the depth runs tap by tap, channels innermost, and weights are packed that way.
 * So a thread, whose pixels never change, finds for each tap where they look, once, and then
 * steps from plane to plane. Where the channels are too few for that (CI_PAD no multiple of BK)
 * each element finds its own tap by constants.
 *
 *   packed [group][DEPTH][CO_PAD]      partial [SPLIT][the output]
 *
 * What lies in the padding, behind the last pixel and behind the last channel is staged as
 * zero.
 */
#define LDA BM
#define LDB BN
#include "kernels/matmul/gpu/tile_stage_gpu.kernel.h"
#include "kernels/convolution/implicit/pixels_gpu.kernel.h"

#if WEIGHT_GRADIENT /* images are input channels of a group, channels are images */
#define IMAGE_STEP PLANE_IN
#define CHANNEL_STEP ((INDEX)GROUPS * N * PLANE_IN)
#define GROUP_STEP ((INDEX)N * PLANE_IN)
#define OUTPUT_AT(image, channel) (((INDEX)(channel)*N + (image)) * PLANE_OUT)
#else
#define IMAGE_STEP ((INDEX)CI * PLANE_IN)
#define CHANNEL_STEP PLANE_IN
#define GROUP_STEP ((INDEX)CI_G * PLANE_IN)
#define OUTPUT_AT(image, channel) (((INDEX)(image)*CO + (channel)) * PLANE_OUT)
#endif
#define OUTPUTS ((INDEX)N * CO * PLANE_OUT)
#define WHOLE_TAPS (CI_PAD % BK == 0) /* a tile of depth lies in one tap */
#define STEPS (DEPTH / BK)
#define TILE (BK * (BM + BN))

/* How a tile of pixels is shared out: a thread has PIXEL_VECS vectors of VA pixels, and of each
 * ROWS rows of depth, ROW_STEP apart. Where the threads are more than the rows need, the last
 * ones have none. */
#define LINE_VECS (BM / VA)
#define PIXEL_VECS MAX(1, LINE_VECS / THREADS)
#define ROW_STEP MAX(1, THREADS / LINE_VECS)
#define ROWS CEIL_DIV(BK, ROW_STEP)
#define ROW_IN_TILE(row) (BK % ROW_STEP == 0 || (row) < BK)

VECTOR(vec_a, DTYPE, VA);

INLINE vec_a fetch(GLOBAL const DTYPE *from, bool inside)
{
    vec_a v;
    if (inside) {
        v = *(GLOBAL const vec_a *)from;
    } else {
        UNROLL
        for (int i = 0; i < VA; i++)
            v.v[i] = 0;
    }
    return v;
}

/* Step `step` of the depth, a thread's share: pixels at rows `row`, row + ROW_STEP ...; zeros
 * unless `on`. */
INLINE void fetch_pixels(GLOBAL const DTYPE *RESTRICT data, const pixel p[PIXEL_VECS], int step,
                         int row, vec_a next[PIXEL_VECS][ROWS], bool on)
{
    UNROLL
    for (int i = 0; i < PIXEL_VECS; i++) {
#if WHOLE_TAPS
        /* Whether `on` or not: behind a branch no arithmetic would stand between the loads. */
        const int place = look(&p[i], step / (CI_PAD / BK)), at = on ? place : -1;
        const int first = step % (CI_PAD / BK) * BK + row;
        GLOBAL const DTYPE *from =
            data + (p[i].plane + (INDEX)first * CHANNEL_STEP + MAX(at, 0));
        OPAQUE_POINTER(from);
        UNROLL
        for (int r = 0; r < ROWS; r++)
            next[i][r] = fetch(from + (INDEX)(r * ROW_STEP) * CHANNEL_STEP,
                               at >= 0 && ROW_IN_TILE(row + r * ROW_STEP) &&
                                   (CI_G % BK == 0 || first + r * ROW_STEP < CI_G));
#else
        UNROLL
        for (int r = 0; r < ROWS; r++) {
            const int k = step * BK + row + r * ROW_STEP, channel = k % CI_PAD;
            const bool in_depth = ROW_IN_TILE(row + r * ROW_STEP) && k < TAPS * CI_PAD;
            const int at = on && in_depth ? look(&p[i], k / CI_PAD) : -1;
            next[i][r] = fetch(data + p[i].plane + (INDEX)channel * CHANNEL_STEP + at,
                               at >= 0 && (CI_G % BK == 0 || channel < CI_G));
        }
#endif
    }
}

INLINE void store_pixels(LOCAL DTYPE *tile, int column, int row,
                         const vec_a next[PIXEL_VECS][ROWS])
{
    UNROLL
    for (int i = 0; i < PIXEL_VECS; i++) {
        UNROLL
        for (int r = 0; r < ROWS; r++)
            if (ROW_IN_TILE(row + r * ROW_STEP))
                *(LOCAL vec_a *)(tile + (row + r * ROW_STEP) * BM +
                                 (column + i * THREADS) * VA) = next[i][r];
    }
}

/* One channel of a chunk of CM pixels, which are neighbours in the output or split over images. */
INLINE void store_sums(GLOBAL DTYPE *RESTRICT out, INDEX m, int channel,
                       const DTYPE acc[TM][TN], int i, int j)
{
#if PLANE_OUT % CM == 0
    tile_rows v;
    UNROLL
    for (int c = 0; c < CM; c++)
        v.v[c] = APART(acc[i + c][j]);
    if (m < PIXELS)
        STORE_VECTOR(
            (GLOBAL tile_rows *)(out + OUTPUT_AT(m / PLANE_OUT, channel) + m % PLANE_OUT), v);
#else
    UNROLL
    for (int c = 0; c < CM; c++)
        if (m + c < PIXELS)
            out[OUTPUT_AT((m + c) / PLANE_OUT, channel) + (m + c) % PLANE_OUT] = acc[i + c][j];
#endif
}

KERNEL(THREADS, 1, 1)
convolve(GLOBAL const DTYPE *RESTRICT data, GLOBAL const DTYPE *RESTRICT packed,
         GLOBAL DTYPE *RESTRICT out)
{
    SHARED(pool, STAGES * TILE * sizeof(DTYPE));
    LOCAL DTYPE *const tile = (LOCAL DTYPE *)pool;
    const int thread = THREAD_X, ty = TILE_TY(thread), tx = TILE_TX(thread);
    const int column = thread % LINE_VECS, row = thread / LINE_VECS;
    const int group = BLOCK_Z / SPLIT, part = BLOCK_Z % SPLIT, n0 = BLOCK_Y * BN;
    const int first = part * CEIL_DIV(STEPS, SPLIT);
    const int last = MIN(STEPS, first + CEIL_DIV(STEPS, SPLIT));
    const INDEX m0 = (INDEX)BLOCK_X * BM;
    GLOBAL const DTYPE *RESTRICT const weights = packed + (INDEX)group * DEPTH * CO_PAD + n0;
    pixel p[PIXEL_VECS];
    vec_a next_a[PIXEL_VECS][ROWS];
    tile_vec next_b[TILE_VECS(BN)];
    DTYPE acc[TM][TN];
    tile_clear(acc);
    UNROLL
    for (int i = 0; i < PIXEL_VECS; i++)
        p[i] = pixel_of(m0 + (column + i * THREADS) * VA, IMAGE_STEP, group * GROUP_STEP);

#define FETCH_TILES(s, on)                                                                     \
    tile_fetch(weights + (INDEX)(first + (s)) * BK * CO_PAD, CO_PAD, BN, thread, next_b, on);  \
    fetch_pixels(data, p, first + (s), row, next_a, on);
#define STORE_TILES(to)                                                                        \
    tile_store((to) + BK * BM, BN, thread, next_b);                                            \
    store_pixels(to, column, row, next_a);
    TILE_PRODUCT(last - first, tile, TILE, ty, tx, acc)

    UNROLL
    for (int j = 0; j < TN; j++) {
        const int channel = n0 + TILE_COL(j, tx);
        if (CO_G % BN == 0 || channel < CO_G) {
            UNROLL
            for (int i = 0; i < TM; i += CM)
                store_sums(out + part * OUTPUTS, m0 + TILE_ROW(i, ty), group * CO_G + channel,
                           acc, i, j);
        }
    }
}

KERNEL(PACK_THREADS, 1, 1)
pack(GLOBAL const DTYPE *RESTRICT weight, GLOBAL DTYPE *RESTRICT packed)
{
    const i64 e = (i64)BLOCK_X * PACK_THREADS + THREAD_X;
    const int f = (int)(e % CO_PAD), k = (int)(e / CO_PAD % DEPTH);
    const int group = (int)(e / CO_PAD / DEPTH), tap = k / CI_PAD, c = k % CI_PAD;
    if (group < GROUPS)
        packed[e] =
            f < CO_G && c < CI_G && tap < TAPS ? weight[WEIGHT_AT(group, f, c, tap)] : 0;
}

/* The output is the sum of its parts. */
KERNEL(PACK_THREADS, 1, 1)
add_parts(GLOBAL const DTYPE *RESTRICT partial, GLOBAL DTYPE *RESTRICT out)
{
    const i64 e = (i64)BLOCK_X * PACK_THREADS + THREAD_X;
    if (e < OUTPUTS) {
        DTYPE sum = partial[e];
        UNROLL
        for (int p = 1; p < SPLIT; p++)
            sum += partial[p * (i64)OUTPUTS + e];
        out[e] = sum;
    }
}
