/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_im2col.cpu: NCHW convolution as a GEMM, weights [CO_G][K] times columns [K][pixels]
 * with K = CI_G * KH * KW. Macros from the plan: the shape, GEMM_MR (output channels) x GEMM_NV
 * (vectors of pixels) of the register tile, GEMM_KU, and, of constant planes, FULL_COLS and
 * LAST_COLS, the pixels that whole panels leave of a block and of the last one. How large blocks
 * are comes as numbers, so that configs which differ in them alone share a module.
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
#define TILE_SIZE ((i64)CEIL_DIV(K * GEMM_MR, VLEN) * VLEN + VLEN)
/* The odd vector keeps consecutive rows out of the same cache sets. */
#define PITCH(pixels) ((CEIL_DIV(pixels, GEMM_NR) * GEMM_NV | 1) * VLEN)
#define LAST_ROWS (CO_G % GEMM_MR)

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
INLINE void fill(DTYPE *col, i64 pitch, const DTYPE *from, i64 p0, i64 p1, i64 k0, i64 k1,
                 void *const *arg)
{
    for (i64 k = k0; k < k1; k++, col += pitch) {
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

/* One depth of a block of pixels. */
typedef struct part {
    const DTYPE *col;
    i64 pitch, full, last; /* of columns; whole panels, and the columns that they leave */
    i64 depth;
    int first;
    void *const *ends; /* NULL, or the stage's arguments in the last depth */
} part;

/* `area` apart are channels of the output. */
INLINE void product(const part *a, const int rows, const int cols, const DTYPE *w,
                    const DTYPE *col, DTYPE *out, const i64 area)
{
    gemm_acc acc;
    if (a->first)
        gemm_start(acc, rows, 0, GEMM_NR);
    else
        gemm_load(acc, rows, out, area, cols);
    gemm_mac(acc, rows, a->depth, w, 1, GEMM_MR, col, a->pitch);
    if (EPILOGUE && a->ends)
        gemm_finish(acc, rows, out, area, cols, a->ends, out - (const DTYPE *)a->ends[2]);
    else
        gemm_store(acc, rows, out, area, cols);
}

#if VARIES
/* The last panel of a block whose columns are known at run time: whole vectors, by way of a tile
 * of its own. */
INLINE void product_some(const part *a, const int rows, const DTYPE *w, const DTYPE *col,
                         DTYPE *out, const i64 area)
{
    DTYPE sums[GEMM_MR * GEMM_NR] __attribute__((aligned(VEC_BYTES)));
    for (int i = 0; i < rows; i++)
        for (i64 j = 0; j < GEMM_NR; j++)
            sums[i * GEMM_NR + j] = a->first || j >= a->last ? 0 : out[i * area + j];
    gemm_acc acc;
    gemm_load(acc, rows, sums, GEMM_NR, GEMM_NR);
    gemm_mac(acc, rows, a->depth, w, 1, GEMM_MR, col, a->pitch);
    gemm_store(acc, rows, sums, GEMM_NR, GEMM_NR);
    for (int i = 0; i < rows; i++)
        __builtin_memcpy(out + i * area, sums + i * GEMM_NR, (usize)a->last * sizeof(DTYPE));
    if (EPILOGUE && a->ends)
        epilogue_rows(out, area, rows, a->last, a->ends, out - (const DTYPE *)a->ends[2]);
}
#endif

/* The panels of one tile of output channels. */
INLINE void panels(const part *a, const int rows, const DTYPE *w, DTYPE *out, const i64 area)
{
    const DTYPE *col = a->col;
    for (i64 p = 0; p < a->full; p++, col += GEMM_NR, out += GEMM_NR)
        product(a, rows, GEMM_NR, w, col, out, area);
#if VARIES
    if (a->last)
        product_some(a, rows, w, col, out, area);
#else
    if (FULL_COLS && a->last == FULL_COLS)
        product(a, rows, FULL_COLS, w, col, out, area);
    else if (LAST_COLS && LAST_COLS != FULL_COLS && a->last)
        product(a, rows, LAST_COLS, w, col, out, area);
#endif
}

INLINE void tiles(const part *a, i64 t0, i64 t1, const DTYPE *w, DTYPE *out, const i64 area)
{
    for (i64 t = t0; t < t1; t++) {
        const DTYPE *from = w + t * TILE_SIZE;
        DTYPE *to = out + t * GEMM_MR * area;
        if (LAST_ROWS == 0 || t + 1 < CO_TILES)
            panels(a, GEMM_MR, from, to, area);
        else
            panels(a, LAST_ROWS, from, to, area);
    }
}

/* arg: data, packed, out, columns, pixels of a block, depth of a block, tasks that share the
 * pixels of a block between them, and the dims that vary */
void im2col(void *const *arg)
{
    const DTYPE *data = arg[0], *packed = arg[1];
    DTYPE *out = arg[2], *columns = arg[3];
    const i64 pixels = *(const i64 *)arg[4], most = *(const i64 *)arg[5];
    const i64 parts = *(const i64 *)arg[6], part_tiles = CEIL_DIV(CO_TILES, parts);
    const i64 blocks = CEIL_DIV(AREA, pixels), pitch = PITCH(pixels);
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)N * GROUPS * blocks * parts; task++) {
        const i64 block = task / parts % blocks, g = task / parts / blocks % GROUPS;
        const i64 n = task / parts / blocks / GROUPS;
        const i64 p0 = block * pixels, p1 = MIN(p0 + pixels, AREA);
        const i64 t0 = task % parts * part_tiles, t1 = MIN(t0 + part_tiles, CO_TILES);
        const DTYPE *from = data + (n * CI + g * CI_G) * ((i64)H * W);
        const DTYPE *w = packed + g * CO_TILES * TILE_SIZE;
        DTYPE *to = out + (n * CO + g * CO_G) * (i64)AREA + p0;
        DTYPE *col = columns + THREAD * (most * pitch);
        for (i64 k0 = 0; k0 < K; k0 += most) {
            const i64 depth = MIN(most, K - k0);
            fill(col, pitch, from, p0, p1, k0, k0 + depth, arg);
            const part a = {.col = col,
                            .pitch = pitch,
                            .full = (p1 - p0) / GEMM_NR,
                            .last = (p1 - p0) % GEMM_NR,
                            .depth = depth,
                            .first = k0 == 0,
                            .ends = k0 + depth == K ? arg : 0};
            tiles(&a, t0, t1, w + k0 * GEMM_MR, to, AREA);
        }
    }
}
