/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_im2col.cpu: NCHW convolution as a GEMM, weights [CO_G][K] times columns [K][pixels]
 * with K = CI_G * KH * KW. Macros from the plan: the shape, GEMM_MR (output channels) x GEMM_NV
 * (vectors of pixels) of the register tile, GEMM_KU, PIXELS (output pixels of a block), DEPTH
 * (of a block), CO_PARTS (tasks that share the pixels of a block between them).
 *
 * The one idea: columns are made for a block of pixels and a part of K at a time, small enough
 * to stay in the L2, and used at once for all output channels; the whole matrix never exists.
 *
 * Packed weights are [group][tile of channels][K][GEMM_MR], tiles TILE_SIZE elements apart (the
 * slack takes the zeros that packing writes beyond a tile).
 */
#include "kernels/matmul/gemm.kernel.h"

#define K (CI_G * KH * KW)
#define AREA (OH * OW)
#define CO_TILES CEIL_DIV(CO_G, GEMM_MR)
#define PART_TILES CEIL_DIV(CO_TILES, CO_PARTS)
#define TILE_SIZE ((i64)CEIL_DIV(K * GEMM_MR, VLEN) * VLEN + VLEN)
#define BLOCKS CEIL_DIV(AREA, PIXELS)
/* The odd vector keeps consecutive rows out of the same cache sets. */
#define PITCH ((CEIL_DIV(PIXELS, GEMM_NR) * GEMM_NV | 1) * VLEN)
#define LAST_ROWS (CO_G % GEMM_MR)
#define LAST_COLS (AREA % PIXELS % GEMM_NR)
#define FULL_COLS (PIXELS % GEMM_NR)

/* arg: weight, packed */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *packed = arg[1];
    PARALLEL_FOR
    for (i64 t = 0; t < GROUPS * CO_TILES; t++) {
        const i64 first = t % CO_TILES * GEMM_MR;
        DTYPE *to = packed + t * TILE_SIZE;
        for (i64 k = 0; k < K; k++, to += GEMM_MR) {
            i64 i = 0;
            for (; i < MIN(GEMM_MR, CO_G - first); i++)
                to[i] = weight[(t / CO_TILES * CO_G + first + i) * K + k];
            for (; i < GEMM_MR; i++)
                to[i] = 0;
        }
    }
}

/* `count` elements `step` apart, by vectors for steps of 1 and 2. */
INLINE void copy(DTYPE *to, const DTYPE *from, i64 count, const int step)
{
    i64 i = 0;
    for (; step == 1 && i + VLEN <= count; i += VLEN)
        store(to + i, load(from + i));
    vmask even;
    UNROLL(16)
    for (int l = 0; l < VLEN; l++)
        even[l] = 2 * l;
    for (; step == 2 && i + VLEN < count; i += VLEN)
        store(to + i, __builtin_shuffle(load(from + 2 * i), load(from + 2 * i + VLEN), even));
    for (; i < count; i++)
        to[i] = from[i * step];
}

/* to[i] = the input under tap column kw for output columns [x0, x1) of a row of input. */
INLINE void fill_row(DTYPE *to, const DTYPE *row, i64 x0, i64 x1, i64 kw, void *const *arg)
{
    const i64 shift = kw * DW - PL;
    const i64 low = shift >= 0 ? 0 : CEIL_DIV(-shift, SW);
    const i64 high = W - 1 - shift < 0 ? 0 : (W - 1 - shift) / SW + 1;
    const i64 a = MIN(MAX(low, x0), x1), b = MAX(a, MIN(high, x1));
    for (i64 x = x0; x < a; x++)
        to[x - x0] = 0;
    copy(to + a - x0, row + a * SW + shift, b - a, SW);
    for (i64 x = b; x < x1; x++)
        to[x - x0] = 0;
}

/* Columns of pixels [p0, p1) for depth [k0, k1) of a group whose input starts at `from`. */
INLINE void fill(DTYPE *col, const DTYPE *from, i64 p0, i64 p1, i64 k0, i64 k1,
                 void *const *arg)
{
    for (i64 k = k0; k < k1; k++, col += PITCH) {
        const i64 kw = k % KW, kh = k / KW % KH;
        const DTYPE *plane = from + k / (KH * KW) * ((i64)H * W);
        if (KH * KW * SH * SW == 1 && PT + PL + PB + PR == 0) {
            copy(col, plane + p0, p1 - p0, 1);
            continue;
        }
        for (i64 p = p0, end; p < p1; p = end) {
            const i64 oy = p / OW, y = oy * SH - PT + kh * DH;
            end = MIN(p1, (oy + 1) * OW);
            if (y >= 0 && y < H)
                fill_row(col + (p - p0), plane + y * W, p - oy * OW, end - oy * OW, kw,
                         arg);
            else
                for (i64 i = p; i < end; i++)
                    col[i - p0] = 0;
        }
    }
}

/* `ends` is NULL, or the stage's arguments when this is the last block of depth; `area` apart are
 * channels of the output. */
INLINE void product(const int rows, const int cols, const DTYPE *w, const DTYPE *col,
                    DTYPE *out, const i64 area, i64 depth, int first, void *const *ends)
{
    gemm_acc acc;
    if (first)
        gemm_start(acc, rows, 0, GEMM_NR);
    else
        gemm_load(acc, rows, out, area, cols);
    gemm_mac(acc, rows, depth, w, 1, GEMM_MR, col, PITCH);
    if (EPILOGUE && ends)
        gemm_finish(acc, rows, out, area, cols, ends, out - (const DTYPE *)ends[2]);
    else
        gemm_store(acc, rows, out, area, cols);
}

#if VARIES
/* The last panel of a block whose columns are known at run time: whole vectors, by way of a tile
 * of its own. */
INLINE void product_some(const int rows, i64 cols, const DTYPE *w, const DTYPE *col, DTYPE *out,
                         const i64 area, i64 depth, int first, void *const *ends)
{
    DTYPE part[GEMM_MR * GEMM_NR] __attribute__((aligned(VEC_BYTES)));
    for (int i = 0; i < rows; i++)
        for (i64 j = 0; j < GEMM_NR; j++)
            part[i * GEMM_NR + j] = first || j >= cols ? 0 : out[i * area + j];
    gemm_acc acc;
    gemm_load(acc, rows, part, GEMM_NR, GEMM_NR);
    gemm_mac(acc, rows, depth, w, 1, GEMM_MR, col, PITCH);
    gemm_store(acc, rows, part, GEMM_NR, GEMM_NR);
    for (int i = 0; i < rows; i++)
        __builtin_memcpy(out + i * area, part + i * GEMM_NR, (usize)cols * sizeof(DTYPE));
    if (EPILOGUE && ends)
        epilogue_rows(out, area, rows, cols, ends, out - (const DTYPE *)ends[2]);
}
#endif

/* The panels of one tile of output channels; `last` is the width of the last one. */
INLINE void panels(const int rows, const i64 last, i64 full, const DTYPE *w, const DTYPE *col,
                   DTYPE *out, const i64 area, i64 depth, int first, void *const *ends)
{
    for (i64 p = 0; p < full; p++)
        product(rows, GEMM_NR, w, col + p * GEMM_NR, out + p * GEMM_NR, area, depth, first,
                ends);
    if (last)
#if VARIES
        product_some(rows, last, w, col + full * GEMM_NR, out + full * GEMM_NR, area, depth,
                     first, ends);
#else
        product(rows, last, w, col + full * GEMM_NR, out + full * GEMM_NR, area, depth, first,
                ends);
#endif
}

INLINE void tiles(const i64 last, i64 full, i64 t0, i64 t1, const DTYPE *w, const DTYPE *col,
                  DTYPE *out, const i64 area, i64 depth, int first, void *const *ends)
{
    for (i64 t = t0; t < t1; t++) {
        const DTYPE *from = w + t * TILE_SIZE;
        DTYPE *to = out + t * GEMM_MR * area;
        if (LAST_ROWS == 0 || t + 1 < CO_TILES)
            panels(GEMM_MR, last, full, from, col, to, area, depth, first, ends);
        else
            panels(LAST_ROWS, last, full, from, col, to, area, depth, first, ends);
    }
}

/* arg: data, packed, out, columns, and the dims that vary */
void im2col(void *const *arg)
{
    const DTYPE *data = arg[0], *packed = arg[1];
    DTYPE *out = arg[2], *columns = arg[3];
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)N * GROUPS * BLOCKS * CO_PARTS; task++) {
        const i64 part = task % CO_PARTS, block = task / CO_PARTS % BLOCKS;
        const i64 g = task / CO_PARTS / BLOCKS % GROUPS, n = task / CO_PARTS / BLOCKS / GROUPS;
        const i64 p0 = block * PIXELS, p1 = MIN(p0 + PIXELS, AREA);
        const i64 t0 = part * PART_TILES, t1 = MIN(t0 + PART_TILES, CO_TILES);
        const DTYPE *from = data + (n * CI + g * CI_G) * ((i64)H * W);
        const DTYPE *w = packed + g * CO_TILES * TILE_SIZE;
        DTYPE *to = out + (n * CO + g * CO_G) * (i64)AREA + p0;
        DTYPE *col = columns + THREAD * ((i64)DEPTH * PITCH);
        for (i64 k0 = 0; k0 < K; k0 += DEPTH) {
            const i64 depth = MIN(DEPTH, K - k0), full = (p1 - p0) / GEMM_NR;
            void *const *ends = k0 + depth == K ? arg : 0;
            fill(col, from, p0, p1, k0, k0 + depth, arg);
#if VARIES
            tiles((p1 - p0) % GEMM_NR, full, t0, t1, w + k0 * GEMM_MR, col, to, AREA, depth,
                  k0 == 0, ends);
#else
            if (p1 - p0 == PIXELS)
                tiles(FULL_COLS, full, t0, t1, w + k0 * GEMM_MR, col, to, AREA, depth, k0 == 0,
                      ends);
            else
                tiles(LAST_COLS, full, t0, t1, w + k0 * GEMM_MR, col, to, AREA, depth, k0 == 0,
                      ends);
#endif
        }
    }
}
