/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling of NCHW<c>c: a vector is VLEN channels of one pixel, so windows need no shuffles.
 * Tiles of TH rows x TW pixels where all taps are inside; elsewhere one pixel at a time with
 * the taps that exist.
 */
#define STORED_TENSORS
#include "kernels/pool/compute.kernel.h"

INLINE void tile(const stored *plane, stored *out, i64 oy, i64 ox, const int rows,
                 const int cols)
{
    const stored *from = plane + ((oy * SH - PT) * W + ox * SW - PL) * BLOCK;
    vec acc[TH][TW];
    UNROLL(16)
    for (int r = 0; r < rows; r++) {
        UNROLL(16)
        for (int t = 0; t < cols; t++) {
            UNROLL(16)
            for (int i = 0; i < KH; i++) {
                UNROLL(16)
                for (int j = 0; j < KW; j++) {
                    const vec x = stored_load(
                        from + ((i64)(r * SH + i * DH) * W + t * SW + j * DW) * BLOCK);
                    acc[r][t] = i || j ? fold(acc[r][t], x) : x;
                }
            }
        }
    }
    UNROLL(16)
    for (int r = 0; r < rows; r++) {
        UNROLL(16)
        for (int t = 0; t < cols; t++) {
            if (POOL_MEAN)
                acc[r][t] *= share_of(KH, KW);
            stored_store(out + ((oy + r) * OW + ox + t) * BLOCK, acc[r][t]);
        }
    }
}

/* Pixels [ox, end) of one row, whatever is outside. */
INLINE void edge(const stored *plane, stored *out, i64 oy, i64 ox, i64 end)
{
    const span y = rows_of(oy);
    for (; ox < end; ox++) {
        const span x = cols_of(ox);
        const stored *from = plane + ((oy * SH - PT) * W + ox * SW - PL) * BLOCK;
        vec acc = splat(POOL_START);
        for (i64 i = y.first; i < y.last; i++)
            for (i64 j = x.first; j < x.last; j++)
                acc = fold(acc, stored_load(from + (i * (DH * W) + j * DW) * BLOCK));
        if (POOL_MEAN)
            acc *= share_of(counted_rows(oy), counted_cols(ox));
        stored_store(out + (oy * OW + ox) * BLOCK, acc);
    }
}

INLINE void row(const stored *plane, stored *out, i64 oy, const int rows)
{
    for (int r = 0; r < rows; r++) {
        edge(plane, out, oy + r, 0, X0);
        edge(plane, out, oy + r, X1, OW);
    }
    i64 ox = X0;
    for (; ox + TW <= X1; ox += TW)
        tile(plane, out, oy, ox, rows, TW);
    if ((X1 - X0) % TW)
        tile(plane, out, oy, ox, rows, (X1 - X0) % TW);
}

/* arg: data, out */
void pool(void *const *arg)
{
    const stored *data = arg[0];
    stored *out = arg[1];
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)PLANES * BANDS; task++) {
        const i64 p = task % PLANES, band = task / PLANES;
        const i64 last = (band + 1) * OH / BANDS;
        for (int part = 0; part < BLOCK; part += VLEN) {
            const stored *plane = data + p * ((i64)H * W * BLOCK) + part;
            stored *to = out + p * ((i64)OH * OW * BLOCK) + part;
            for (i64 oy = band * OH / BANDS; oy < last;) {
                if (oy < Y0 || oy >= Y1) {
                    edge(plane, to, oy, 0, OW);
                    oy++;
                } else if (TH > 1 && oy + TH <= MIN(last, Y1)) {
                    row(plane, to, oy, TH);
                    oy += TH;
                } else {
                    row(plane, to, oy++, 1);
                }
            }
        }
    }
}
