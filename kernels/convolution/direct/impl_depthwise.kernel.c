/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise_conv2d.cpu on vectors of channels. Macros from the plan: the shape, VEC_BYTES, TH x
 * TW (output pixels of a register tile), ROWS (output rows of a block), UNROLL_KH.
 *
 * The one idea: a tile whose columns are constants has constant padding, so the tiles at the
 * left and the right edge are instances of the same code with the taps outside left out, and
 * nothing is padded or tested while computing. Rows are clipped at run time. An input vector is
 * loaded once for all the taps and rows of the tile that it meets.
 */
#define STORED_TENSORS
#include "kernels/convolution/planes.kernel.h"

#define TAPS (KH * KW)
#define VECS CEIL_DIV(CO, VLEN)
#define ROW_BLOCKS CEIL_DIV(OH, ROWS)
#define COLS CEIL_DIV(OW, TW)
#define LAST_TW (OW - (COLS - 1) * TW)
#define FAR_ROW ((KH - 1) * DH)
#define FAR_COL ((KW - 1) * DW)
#define BAND_SIZE ((i64)MAX(MIN(H, (ROWS - 1) * SH + FAR_ROW + 1) * W, ROWS * OW) * VLEN)

/* Tiles of TW columns all of whose taps are inside: [FREE_START, FREE_END). */
#define LAST_FREE ((W - 1 - FAR_COL + PL) / SW + 1)
#define FREE_END (W - 1 - FAR_COL + PL < 0 ? 0 : MIN(OW, LAST_FREE) / TW)
#define FREE_START MIN(CEIL_DIV(CEIL_DIV(PL, SW), TW), FREE_END)

/* arg: weight [C][1][KH][KW], packed [vector][tap][VLEN] */
void pack_weight(void *const *arg)
{
    const stored *weight = arg[0];
    DTYPE *packed = arg[1];
    PARALLEL_FOR
    for (i64 v = 0; v < VECS; v++)
        for (i64 k = 0; k < TAPS; k++) {
            DTYPE *to = packed + (v * TAPS + k) * VLEN;
            i64 l = 0;
            for (; l < MIN(VLEN, CO - v * VLEN); l++)
                to[l] = stored_value(weight[(v * VLEN + l) * TAPS + k]);
            for (; l < VLEN; l++)
                to[l] = 0;
        }
}

/* One row of taps: acc[t] += w[kw] * from[t * SW + kw * DW]. */
INLINE void taps(vec acc[TW], const DTYPE *w, const DTYPE *from, const int cols, const i64 edge)
{
    UNROLL(32)
    for (int kw = 0; kw < KW; kw++) {
        const vec wv = load(w + kw * VLEN);
        UNROLL(32)
        for (int t = 0; t < cols; t++) {
            const i64 x = (edge + t) * SW - PL + kw * DW;
            if (edge >= 0 && (x < 0 || x >= W))
                continue;
            acc[t] += wv * load(from + (t * SW + kw * DW) * PIXEL_IN);
        }
    }
}

/* Pixels [oy, oy + rows) x [ox, ox + cols). `edge` is the constant ox of a tile that meets the
 * padding, else -1. Only taps of kernel rows [k0, k1) exist when `clipped`, for one row. */
INLINE void tile(const DTYPE *image, const DTYPE *w, DTYPE *to, i64 oy, i64 ox, const int rows,
                 const int cols, const i64 edge, const int clipped, i64 k0, i64 k1)
{
    vec acc[TH][TW];
    const DTYPE *from = image + ((oy * SH - PT) * W + ox * SW - PL) * PIXEL_IN;
    UNROLL(16)
    for (int r = 0; r < rows; r++) {
        UNROLL(32)
        for (int t = 0; t < cols; t++)
            acc[r][t] = (vec){0};
    }
    if (rows > 1) {
        UNROLL(16)
        for (int y = 0; y < (TH - 1) * SH + FAR_ROW + 1; y++) {
            UNROLL(16)
            for (int r = 0; r < rows; r++)
                if (y >= r * SH && y <= r * SH + FAR_ROW && (y - r * SH) % DH == 0)
                    taps(acc[r], w + (y - r * SH) / DH * (KW * VLEN), from + y * W * PIXEL_IN,
                         cols, edge);
        }
    } else if (clipped) {
        for (i64 k = k0; k < k1; k++)
            taps(acc[0], w + k * (KW * VLEN), from + k * (DH * W) * PIXEL_IN, cols, edge);
    } else {
        UNROLL(UNROLL_KH)
        for (i64 k = 0; k < KH; k++)
            taps(acc[0], w + k * (KW * VLEN), from + k * (DH * W) * PIXEL_IN, cols, edge);
    }
    UNROLL(16)
    for (int r = 0; r < rows; r++) {
        UNROLL(32)
        for (int t = 0; t < cols; t++)
            store(to + ((oy + r) * OW + ox + t) * PIXEL_OUT, acc[r][t]);
    }
}

/* All columns of `rows` output rows. */
INLINE void tile_row(const DTYPE *image, const DTYPE *w, DTYPE *to, i64 oy, const int rows,
                     const int clipped, i64 k0, i64 k1)
{
    UNROLL(64)
    for (int q = 0; q < FREE_START; q++)
        tile(image, w, to, oy, q * TW, rows, q + 1 == COLS ? LAST_TW : TW, q * TW, clipped, k0,
             k1);
    for (i64 q = FREE_START; q < FREE_END; q++)
        tile(image, w, to, oy, q * TW, rows, TW, -1, clipped, k0, k1);
    UNROLL(64)
    for (int q = FREE_END; q < COLS; q++)
        tile(image, w, to, oy, q * TW, rows, q + 1 == COLS ? LAST_TW : TW, q * TW, clipped, k0,
             k1);
}

/* arg: data, packed, out, bands */
void depthwise(void *const *arg)
{
    const stored *data = arg[0];
    const DTYPE *packed = arg[1];
    stored *out = arg[2];
    DTYPE *bands = arg[3];
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)N * VECS * ROW_BLOCKS; task++) {
        const i64 first = task % ROW_BLOCKS * ROWS, last = MIN(first + ROWS, OH);
        const i64 v = task / ROW_BLOCKS % VECS, n = task / ROW_BLOCKS / VECS;
        const i64 y0 = MIN(H, MAX(0, first * SH - PT));
        const i64 y1 = MAX(y0, MIN(H, (last - 1) * SH - PT + FAR_ROW + 1));
        DTYPE *band = bands + THREAD * 2 * BAND_SIZE, *result = band + BAND_SIZE;
        const DTYPE *image =
            planes_read(data, n, v * VLEN, y0 * W, (y1 - y0) * W, band) - y0 * W * PIXEL_IN;
        DTYPE *to = planes_open(out, n, v * VLEN, first * OW, result) - first * OW * PIXEL_OUT;
        const DTYPE *w = packed + v * (TAPS * VLEN);
        for (i64 oy = first; oy < last;) {
            const i64 y = oy * SH - PT;
            if (TH > 1 && oy + TH <= last && y >= 0 && y + (TH - 1) * SH + FAR_ROW < H) {
                tile_row(image, w, to, oy, TH, 0, 0, KH);
                oy += TH;
            } else if (y >= 0 && y + FAR_ROW < H) {
                tile_row(image, w, to, oy++, 1, 0, 0, KH);
            } else {
                const i64 k0 = y < 0 ? MIN(KH, CEIL_DIV(-y, DH)) : 0;
                const i64 k1 = MAX(k0, MIN(KH, CEIL_DIV(H - y, DH)));
                tile_row(image, w, to, oy++, 1, 1, k0, k1);
            }
        }
        planes_write(out, n, v * VLEN, first * OW, (last - first) * OW, result, arg);
    }
}
