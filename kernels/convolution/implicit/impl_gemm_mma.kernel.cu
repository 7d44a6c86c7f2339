/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_implicit_gemm_mma.cuda: a product by the tensor-core tile of
 * kernels/matmul/gpu/mma_tile_gpu.kernel.h. Rows are the output channels of one group, columns
 * the pixels of all images, the depth its taps and, innermost, its channels. Macros beside the
 * tile's: the shape, ELEM SIZE OUT ROUND as for dense, DEPTH (elements in KB), CI_PAD (channels
 * in whole chunks of 16 bytes), CO_PAD, TILES (of depth), SPLITS, GROUP, INDEX, FLAT.
 *
 * The one idea: copies go by 16 bytes, so channels have to be innermost. A stage in front turns
 * the planes of the input over, with channels padded by zeros; then a chunk lies in one tap,
 * and a chunk outside the image is a copy of no bytes.
 *
 *   turned [image][y][x][group][CI_PAD]    packed [group][CO_PAD][TILES * DEPTH]
 *   partial [SPLITS][the output]
 */
/* Elements are rounded where they are laid out, once, so that the tile need not. */
#if TF32
#define ROUNDED(x) tf32_of_float(x)
#else
#define ROUNDED(x) (x)
#endif
#undef TF32
#define TF32 0
#include "kernels/matmul/gpu/mma_tile_gpu.kernel.h"
#define TRANSPOSED 0
#define WEIGHT_GRADIENT 0
#include "kernels/convolution/implicit/pixels_gpu.kernel.h"
#include "kernels/convolution/implicit/turn_gpu.kernel.h"

#define LINE (TILES * DEPTH)
#define BLOCKS_M (CO_PAD / BM)
#define BLOCKS_N ((int)CEIL_DIV(PIXELS, BN))
#define PART_TILES CEIL_DIV(TILES, SPLITS)
#define OUTPUTS ((INDEX)N * CO * PLANE_OUT)

/* ---- layouts ----------------------------------------------------------------------------- */

KERNEL(FLAT, 1, 1)
pack(GLOBAL const ELEM *RESTRICT weight, GLOBAL ELEM *RESTRICT packed)
{
    const i64 e = (i64)BLOCK_X * FLAT + THREAD_X;
    const int k = (int)(e % LINE), f = (int)(e / LINE % CO_PAD);
    const int group = (int)(e / LINE / CO_PAD), tap = k / CI_PAD, c = k % CI_PAD;
    if (group < GROUPS)
        packed[e] = f < CO_G && c < CI_G && tap < TAPS
                        ? ROUNDED(weight[WEIGHT_AT(group, f, c, tap)])
                        : 0;
}

/* ---- the product ------------------------------------------------------------------------- */

#define WEIGHT_ROWS BM
#define PIXEL_ROWS BN
#include "kernels/convolution/implicit/mma_copies_gpu.kernel.h"

#define FILL(to_a, to_b)                                                                       \
    {                                                                                          \
        fill_weights(&next, to_a);                                                             \
        fill_pixels(&next, to_b, input, p, filled);                                            \
        filled++;                                                                              \
    }

#if SPLITS > 1
#define STORED SUM
#define STORED_BYTES 4
#define STORED_OF(x) (x)
#else
#define STORED OUT
#define STORED_BYTES OUT_BYTES
#define STORED_OF(x) ROUND(x)
#endif
#include "kernels/matmul/gpu/mma_run_gpu.kernel.h"

#define WIDE (PLANE_OUT * STORED_BYTES % 16 == 0 && RUN_FITS)
#define OUT_AT(n) (((n) / PLANE_OUT * CO + channel) * PLANE_OUT + (n) % PLANE_OUT)

/* Sums v[RUN][2] of a channel at pixels from n on, where the first product begins. What is stored
 * at once is of one image where planes are of whole vectors. */
INLINE void store_run(GLOBAL STORED *RESTRICT out, bool inside, INDEX n, int channel,
                      SUM (*v)[2])
{
#if WIDE
    run x;
    n += run_of(&x, v);
    if (inside && n < PIXELS)
        STORE_VECTOR((GLOBAL run *)(out + OUT_AT(n)), x);
#else
    UNROLL
    for (int r = 0; r < RUN; r++) {
        const INDEX at = n + r * 8 + THREAD_X % 4 * 2;
        const pair both = {{STORED_OF(v[r][0]), STORED_OF(v[r][1])}};
#if PLANE_OUT % 2 == 0
        if (inside && at < PIXELS)
            *(GLOBAL pair *)(out + OUT_AT(at)) = both;
#else
        if (inside && at < PIXELS)
            out[OUT_AT(at)] = both.v[0];
        if (inside && at + 1 < PIXELS)
            out[OUT_AT(at + 1)] = both.v[1];
#endif
    }
#endif
}

KERNEL(THREADS, 1, 1)
convolve(GLOBAL const ELEM *RESTRICT turned, GLOBAL const ELEM *RESTRICT packed,
         GLOBAL STORED *RESTRICT out)
{
    SHARED(pool, STAGES * STAGE_BYTES);
    const int channels = BLOCK_Z / SPLITS, part = BLOCK_Z % SPLITS;
    const tile_start at = tile_start_of(BLOCK_X, BLOCKS_M, BLOCKS_N, GROUP);
    const int m0 = (int)at.m;
    const INDEX n0 = at.n;
    const int first = part * PART_TILES, tiles = MIN(PART_TILES, TILES - first);
    GLOBAL const ELEM *RESTRICT const weights = packed + ((INDEX)channels * CO_PAD + m0) * LINE;
    GLOBAL const ELEM *RESTRICT const input = turned + channels * CI_PAD;
    own p[OWN];
    SUM acc[MT][NT][4];
    mma_clear(acc);
    UNROLL
    for (int i = 0; i < OWN; i++)
        p[i] = own_of(n0 + THREAD_X / CHUNKS + i * ROW_STEP);
    int filled = first;
    copies next = copies_of(weights, input, first * DEPTH);
    TILE_LOOP(pool, acc, tiles, FILL);

    UNROLL
    for (int j = 0; j < NT; j += RUN) {
        UNROLL
        for (int i = 0; i < MT; i++) {
            UNROLL
            for (int e = 0; e < 4; e += 2) {
                const int channel = m0 + TILE_ROW(i) + 4 * e;
                SUM v[RUN][2];
                UNROLL
                for (int c = 0; c < RUN * 2; c++)
                    v[c / 2][c % 2] = acc[i][j + c / 2][e + c % 2];
                store_run(out + part * OUTPUTS, CO_G % BM == 0 || channel < CO_G,
                          n0 + TILE_COL(j) - THREAD_X % 4 * 2, channels * CO_G + channel, v);
            }
        }
    }
}

#if SPLITS > 1
KERNEL(FLAT, 1, 1)
finish(GLOBAL const SUM *RESTRICT partial, GLOBAL OUT *RESTRICT out)
{
    const i64 at = (i64)BLOCK_X * FLAT + THREAD_X;
    if (at < OUTPUTS) {
        SUM sum = partial[at];
        UNROLL
        for (int s = 1; s < SPLITS; s++)
            sum += partial[s * (i64)OUTPUTS + at];
        out[at] = ROUND(sum);
    }
}
#endif
