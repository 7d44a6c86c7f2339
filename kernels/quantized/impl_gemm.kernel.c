/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_conv2d_gemm.cpu. Macros from the plan: the shape; PAIRS, TILES (how words are
 * multiplied: words.kernel.h, or the tiles of AMX), DIRECT (rows are read where they lie), PASSES
 * (2: a weight of 16 bits is the sum of two of 8), WORDS (of a row), STEP_WORDS (of a tile's step),
 * ROWS (pixels at once), BLOCKS (of pixels, which meet all panels of a part in turn), PARTS (of a
 * group's panels, tasks of their own), DOT_NV (vectors of a panel's channels).
 *
 * A packed weight is that of panels.kernel.h. A row of words is a pixel's window: KH, KW, channels
 * of the group.
 */
#define RUN (KH * KW * CI_G)
#define RUN_WORDS WORDS
#define MOVE (TILES ? 0 : WORD_MOVE)
#include "kernels/quantized/panels.kernel.h"
#if TILES
#include "kernels/matmul/tiles.kernel.h"
#if !X_SIGNED
#undef TILE_OP
#define TILE_OP "tdpbusd" /* rows without a sign by columns with one */
#endif
#endif

#define PIXELS ((i64)N * OH * OW)
#define PIXEL_TILES CEIL_DIV(PIXELS, ROWS)
#define BLOCK_TILES CEIL_DIV(PIXEL_TILES, BLOCKS) /* at most */
#define VECTOR_ROWS (TILES ? 8 : ROWS)

/* ---- rows ----------------------------------------------------------------------------------- */

/* The window at row y0 and column x0 of an image, of which `from` is the group's first channel. */
INLINE void gather(number *to, const X_T *from, i64 y0, i64 x0)
{
    const int whole = DW == 1 && GROUPS == 1 && x0 >= 0 && x0 + KW <= W;
    for (i64 i = 0; i < KH; i++, to += KW * CI_G) {
        const i64 y = y0 + i * DH;
        const X_T *row = from + (y * W + x0) * CI;
        if (y < 0 || y >= H) {
            fill_numbers(to, KW * CI_G, 0);
        } else if (whole) {
            copy_numbers(to, row, KW * CI_G, 0);
        } else {
            for (i64 j = 0; j < KW; j++) {
                const i64 x = x0 + j * DW;
                if (x >= 0 && x < W)
                    copy_numbers(to + j * CI_G, row + j * DW * CI, CI_G, 0);
                else
                    fill_numbers(to + j * CI_G, CI_G, 0);
            }
        }
    }
}

/* Rows of `n` pixels from p on. */
static __attribute__((noinline)) void lay_rows(u32 *to, const X_T *data, i64 p, i64 n)
{
    for (i64 i = 0; i < n; i++, p++, to += WORDS) {
        const i64 image = p / ((i64)OH * OW), oy = p / OW % OH, ox = p % OW;
        gather((number *)to, data + image * ((i64)H * W * CI), oy * SH - PT, ox * SW - PL);
    }
}

/* ---- products ------------------------------------------------------------------------------- */

/* ROWS rows, a_row words apart, by a panel: sums [ROWS][NR]. Of tiles this is for where the system
 * keeps them from a program; rows with a sign have 128 added, which is taken back here. */
INLINE void by_vectors(const word_near *a, i64 a_row, const u32 *weight, DTYPE *sums)
{
    for (int from = 0; from < ROWS; from += VECTOR_ROWS) {
        const u32 *b = weight;
        vec acc[VECTOR_ROWS][DOT_NV], moved[DOT_NV];
        UNROLL(16)
        for (int j = 0; j < DOT_NV; j++) {
            moved[j] = (vec){0};
            UNROLL(16)
            for (int i = 0; i < VECTOR_ROWS; i++)
                acc[i][j] = (vec){0};
        }
        for (int pass = 0; pass < PASSES; pass++)
            for (i64 k = 0; k < WORDS; k++, b += NR) {
                word_vec w[DOT_NV];
                UNROLL(16)
                for (int j = 0; j < DOT_NV; j++) {
                    w[j] = *(const word_vec_at *)(b + j * VLEN);
                    if (TILES && WORD_MOVE)
                        moved[j] = word_step(moved[j], 0x80808080u - (word_vec){0}, w[j]);
                }
                UNROLL(16)
                for (int i = 0; i < VECTOR_ROWS; i++) {
                    const word_vec x =
                        (a[(from + i) * a_row + k] ^ (WORD_MOVE ? 0x80808080u : 0)) -
                        (word_vec){0};
                    UNROLL(16)
                    for (int j = 0; j < DOT_NV; j++)
                        acc[i][j] = word_step(acc[i][j], x, w[j]);
                }
            }
        UNROLL(16)
        for (int i = 0; i < VECTOR_ROWS; i++) {
            UNROLL(16)
            for (int j = 0; j < DOT_NV; j++)
                store(sums + (from + i) * NR + j * VLEN, acc[i][j] - moved[j]);
        }
    }
}

#if TILES
INLINE void begin(void)
{
    struct {
        unsigned char palette, start_row, reserved[14];
        unsigned short bytes[16];
        unsigned char rows[16];
    } shape = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        shape.bytes[t] = t == 4 || t == 5 ? STEP_WORDS * 4 : 64;
        shape.rows[t] = t >= 6 ? STEP_WORDS : 16;
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(shape));
}

INLINE void by_tiles(const word_near *a, i64 a_row, const u32 *b, DTYPE *sums)
{
    tiles_zero();
    for (int pass = 0; pass < PASSES; pass++)
        for (i64 k = 0; k < WORDS; k += STEP_WORDS, b += STEP_WORDS * NR) {
            TILE_LOAD(6, b, NR);
            TILE_LOAD(4, a + k, a_row);
            TILE_LOAD(5, a + 16 * a_row + k, a_row);
            TILE_DOT(0, 4, 6);
            TILE_DOT(1, 5, 6);
#if DOT_NV > 1
            TILE_LOAD(7, b + 16, NR);
            TILE_DOT(2, 4, 7);
            TILE_DOT(3, 5, 7);
#endif
        }
    TILE_STORE(0, sums);
    TILE_STORE(1, sums + 16 * NR);
#if DOT_NV > 1
    TILE_STORE(2, sums + 16);
    TILE_STORE(3, sums + 16 * NR + 16);
#endif
}
#endif

/* `rows` pixels by a panel. */
INLINE void some(const word_near *a, i64 a_row, const u32 *weight, const int *start,
                 BYTE_T *out, i64 rows, const int channels, const int granted)
{
    DTYPE sums[ROWS * NR] __attribute__((aligned(64)));
#if TILES
    if (granted)
        by_tiles(a, a_row, weight, sums);
    else
#endif
        by_vectors(a, a_row, weight, sums);
    panel_finish(sums, start, (const float *)(start + ALL_CHANNELS), out, rows, DOT_NV,
                 channels);
}

/* arg: data, packed, out, rows of the threads */
void gemm(void *const *arg)
{
    const u32 *packed = arg[1];
    const int *start = (const int *)(packed + GROUPS * CHANNEL_PANELS * WEIGHT_WORDS);
#if TILES
    const int granted = tiles_granted();
#else
    const int granted = 0;
#endif
    PARALLEL_FOR_N(3)
    for (i64 g = 0; g < GROUPS; g++)
        for (i64 part = 0; part < PARTS; part++)
            for (i64 block = 0; block < BLOCKS; block++) {
                const i64 p0 = block * PIXEL_TILES / BLOCKS * ROWS;
                const i64 p1 = MIN((block + 1) * PIXEL_TILES / BLOCKS * ROWS, PIXELS);
                const X_T *data = (const X_T *)arg[0] + g * CI_G;
                u32 *rows = (u32 *)arg[3] + THREAD * (DIRECT ? 1 : BLOCK_TILES) * ROWS * WORDS;
                /* Rows as they lie end within a tile: the last ones are read from a copy. */
                const i64 whole = DIRECT ? p0 + (p1 - p0) / ROWS * ROWS : p0;
                lay_rows(rows, data, whole, p1 - whole);
#if TILES
                if (granted)
                    begin();
#endif
                for (i64 t = part * CHANNEL_PANELS / PARTS;
                     t < (part + 1) * CHANNEL_PANELS / PARTS; t++) {
                    const i64 panel = g * CHANNEL_PANELS + t;
                    const u32 *weight = packed + panel * WEIGHT_WORDS;
                    for (i64 p = p0; p < p1; p += ROWS) {
                        const int lies = DIRECT && p < whole;
                        const word_near *a =
                            lies ? (const word_near *)(data + p * CI)
                                 : (const word_near *)(rows + (p - whole) * WORDS);
                        const i64 a_row = lies ? CI / 4 : WORDS;
                        BYTE_T *out = (BYTE_T *)arg[2] + p * CO + g * CO_G + t * NR;
                        const i64 n = MIN((i64)ROWS, p1 - p);
                        if (t < CHANNEL_PANELS - 1 || CO_G % NR == 0)
                            some(a, a_row, weight, start + panel * NR, out, n, NR, granted);
                        else
                            some(a, a_row, weight, start + panel * NR, out, n, LAST_CHANNELS,
                                 granted);
                    }
                }
#if TILES
                if (granted)
                    tiles_end();
#endif
            }
}
