/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_im2col.cpu: NCHW convolution as a GEMM, weights [CO_G][K] times columns [K][pixels]
 * with K = CI_G * KH * KW.
 *
 * The one idea: columns are made for a block of pixels and a part of K at a time, small enough
 * to stay in the L2, and used at once for all output channels; the whole matrix never exists.
 *
 * Two modules, so that little is compiled for a config. With TILE defined, this is the register
 * tile alone; beside the shape the plan defines GEMM_MR (output channels) x GEMM_NV (vectors of
 * pixels) and GEMM_KU. Without, it is the loops, which get the tile as a function and all other
 * knobs as numbers: compiled once for a shape. Blocks are whole panels, but for a plane's last one.
 *
 * Packed weights are [group][tile of channels][K][channels of a tile], tiles `size` elements apart
 * (the slack takes the zeros that packing writes beyond a tile).
 */
#include "kernels/common/epilogue.kernel.h"
#include "kernels/common/shares.shared.h"
#include "kernels/common/turn.kernel.h"
#ifdef TILE
#include "kernels/matmul/gemm.kernel.h"
#endif

#define K (CI_G * KH * KW)
#define AREA (OH * OW)

/* One depth of a block of pixels, of one tile of output channels. */
typedef struct part {
    const DTYPE *w, *col;
    DTYPE *out;
    i64 pitch, pixels; /* of columns, from one row to the next and how many there are */
    i64 area;          /* from one channel of the output to the next */
    i64 depth;
    i64 first; /* whether nothing was added up before */
    i64 last;  /* whether it is the last tile of a group */
} part;

#ifdef TILE
#define LAST_ROWS (CO_G % GEMM_MR)

/* Without a branch between two ways to begin, or around no depth at all, over which sums would not
 * stay in registers. */
INLINE void product(const part *a, const int rows, const int cols, const DTYPE *col, DTYPE *out)
{
    static const vec none[GEMM_NV];
    gemm_acc acc;
    if (a->depth < 1)
        __builtin_unreachable();
    gemm_load(acc, rows, a->first ? (const DTYPE *)none : out, a->first ? 0 : a->area, cols);
    gemm_mac(acc, rows, a->depth, a->w, 1, GEMM_MR, col, a->pitch);
    gemm_store(acc, rows, out, a->area, cols);
}

#if VARIES
/* The last panel of a block whose columns are known at run time: whole vectors, by way of a tile
 * of its own. */
INLINE void product_some(const part *a, const int rows, const i64 cols, const DTYPE *col,
                         DTYPE *out)
{
    DTYPE sums[GEMM_MR * GEMM_NR] __attribute__((aligned(VEC_BYTES)));
    for (int i = 0; i < rows; i++)
        for (i64 j = 0; j < GEMM_NR; j++)
            sums[i * GEMM_NR + j] = a->first || j >= cols ? 0 : out[i * a->area + j];
    gemm_acc acc;
    gemm_load(acc, rows, sums, GEMM_NR, GEMM_NR);
    gemm_mac(acc, rows, a->depth, a->w, 1, GEMM_MR, col, a->pitch);
    gemm_store(acc, rows, sums, GEMM_NR, GEMM_NR);
    for (int i = 0; i < rows; i++)
        __builtin_memcpy(out + i * a->area, sums + i * GEMM_NR, (usize)cols * sizeof(DTYPE));
}
#endif

/* All panels of the block. */
INLINE void panels(const part *a, const int rows)
{
    const DTYPE *col = a->col;
    DTYPE *out = a->out;
    for (i64 p = a->pixels / GEMM_NR; p > 0; p--, col += GEMM_NR, out += GEMM_NR)
        product(a, rows, GEMM_NR, col, out);
    const i64 left = a->pixels % GEMM_NR;
#if VARIES
    if (left)
        product_some(a, rows, left, col, out);
#else
    if (AREA % GEMM_NR && left)
        product(a, rows, AREA % GEMM_NR, col, out);
#endif
}

/* arg: a part */
void tile(void *const *arg)
{
    const part a = *(const part *)arg[0];
    if (LAST_ROWS && a.last)
        panels(&a, LAST_ROWS);
    else
        panels(&a, GEMM_MR);
}
#else

/* A function of another module. */
typedef void asked_function(void *const *arg);

/* arg: weight, packed, channels of a tile, elements from one tile to the next */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *packed = arg[1];
    const i64 rows = *(const i64 *)arg[2], size = *(const i64 *)arg[3];
    const i64 tiles = CEIL_DIV(CO_G, rows);
    PARALLEL_FOR
    for (i64 t = 0; t < GROUPS * tiles; t++) {
        const i64 first = t % tiles * rows;
        DTYPE *to = packed + t * size;
        for (i64 k = 0; k < K; k++, to += rows) {
            i64 i = 0;
            for (; i < MIN(rows, CO_G - first); i++)
                to[i] = weight[(t / tiles * CO_G + first + i) * K + k];
            for (; i < rows; i++)
                to[i] = 0;
        }
    }
}

/* `count` elements `step` apart, by vectors for steps of 1 and 2, of which the last overlap. */
INLINE void copy(DTYPE *to, const DTYPE *from, i64 count, const int step)
{
    i64 i = 0;
    for (; step == 1 && i + VLEN <= count; i += VLEN)
        store(to + i, load(from + i));
    if (step == 1 && i < count && count >= VLEN) {
        store(to + count - VLEN, load(from + count - VLEN));
        return;
    }
    vmask even;
    UNROLL(16)
    for (int l = 0; l < VLEN; l++)
        even[l] = 2 * l;
    for (; step == 2 && i + VLEN < count; i += VLEN)
        store(to + i, __builtin_shuffle(load(from + 2 * i), load(from + 2 * i + VLEN), even));
    if (step == 2 && i + 1 < count && count > VLEN) {
        /* The last element has nothing behind it to be read. */
        i = count - 1 - VLEN;
        store(to + i, __builtin_shuffle(load(from + 2 * i), load(from + 2 * i + VLEN), even));
        i = count - 1;
    }
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
                fill_row(col + (p - p0), plane + y * W, p - oy * OW, end - oy * OW, kw, arg);
            else
                for (i64 i = p; i < end; i++)
                    col[i - p0] = 0;
        }
    }
}

/* arg: data, packed, out, columns, the tile, its channels, elements from one tile's weights to the
 * next, of columns from one row to the next, pixels of a panel, panels of a block at most, depth
 * of a block, and the dims that vary */
void im2col(void *const *arg)
{
    const DTYPE *data = arg[0], *packed = arg[1];
    DTYPE *out = arg[2], *columns = arg[3];
    asked_function *const tile = (asked_function *)arg[4];
    const i64 rows = *(const i64 *)arg[5], size = *(const i64 *)arg[6];
    const i64 pitch = *(const i64 *)arg[7], panel = *(const i64 *)arg[8];
    const i64 most = *(const i64 *)arg[10], panels = CEIL_DIV(AREA, panel);
    const i64 least = CEIL_DIV(panels, *(const i64 *)arg[9]), planes = (i64)N * GROUPS;
    const i64 blocks =
        least * planes > 1 ? even_pieces(OT_THREADS, planes, least, panels) : least;
    /* Fewer than threads: tasks share the pixels of a block between them. */
    const i64 tiles = CEIL_DIV(CO_G, rows), all = planes * blocks;
    const i64 parts = MIN(tiles, CEIL_DIV(OT_THREADS, MAX((i64)1, all)));
    const i64 part_tiles = CEIL_DIV(tiles, parts);
    PARALLEL_FOR
    for (i64 task = 0; task < all * parts; task++) {
        const i64 block = task / parts % blocks, g = task / parts / blocks % GROUPS;
        const i64 n = task / parts / blocks / GROUPS;
        const i64 p0 = block * panels / blocks * panel;
        const i64 p1 = MIN((block + 1) * panels / blocks * panel, AREA);
        const i64 t0 = task % parts * part_tiles, t1 = MIN(t0 + part_tiles, tiles);
        const DTYPE *from = data + (n * CI + g * CI_G) * ((i64)H * W);
        DTYPE *to = out + (n * CO + g * CO_G) * (i64)AREA + p0;
        DTYPE *col = columns + THREAD * (most * pitch);
        for (i64 k0 = 0; k0 < K; k0 += most) {
            const i64 depth = MIN(most, K - k0);
            fill(col, pitch, from, p0, p1, k0, k0 + depth, arg);
            for (i64 t = t0; t < t1; t++) {
                part a = {.w = packed + (g * tiles + t) * size + k0 * rows,
                          .col = col,
                          .out = to + t * rows * AREA,
                          .pitch = pitch,
                          .pixels = p1 - p0,
                          .area = AREA,
                          .depth = depth,
                          .first = k0 == 0,
                          .last = t + 1 == tiles};
                tile((void *[]){&a});
                if (EPILOGUE && k0 + depth == K)
                    epilogue_rows(a.out, AREA, MIN(rows, CO_G - t * rows), p1 - p0, arg,
                                  a.out - out);
            }
        }
    }
}
#endif
