/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Separable pooling of NCHW: the rows of a window are folded into a line as wide as the padded
 * data, then the columns of that line. TH output rows at once share the rows they have in
 * common; TW vectors of the line and TV of the output are in flight.
 *
 * The one idea: a line has its padding in place, holding POOL_START, and some more beyond its
 * end; so columns need no tests and every load of the second step is a whole vector. Means of
 * windows that count differently are multiplied by a table of columns, made once.
 */
#define STORED_TENSORS
#include "kernels/pool/compute.kernel.h"
#include "kernels/pool/shares.kernel.h"

INLINE void fold_rows(const stored *from, DTYPE *line, i64 x, const int rows, const int vecs,
                      const int inside, span y)
{
    vec acc[TH][TW];
    UNROLL(16)
    for (int r = 0; r < rows; r++) {
        UNROLL(16)
        for (int t = 0; t < vecs; t++) {
            const stored *p = from + r * (SH * W) + x + t * VLEN;
            if (inside) {
                acc[r][t] = stored_load(p);
                UNROLL(16)
                for (int i = 1; i < KH; i++)
                    acc[r][t] = fold(acc[r][t], stored_load(p + i * (DH * W)));
            } else {
                acc[r][t] = splat(POOL_START);
                for (i64 i = y.first; i < y.last; i++)
                    acc[r][t] = fold(acc[r][t], stored_load(p + i * (DH * W)));
            }
        }
    }
    UNROLL(16)
    for (int r = 0; r < rows; r++) {
        UNROLL(16)
        for (int t = 0; t < vecs; t++)
            store(line + r * LINE + PL + x + t * VLEN, acc[r][t]);
    }
}

INLINE vec fold_columns(const DTYPE *p)
{
    vec acc;
#if SW == 2 && DW == 1
    UNROLL(16)
    for (int j = 0; j < KW; j += 2) {
        const vec a = load(p + j), b = load(p + j + VLEN);
        acc = j ? fold(acc, every_second(a, b, 0)) : every_second(a, b, 0);
        if (j + 1 < KW)
            acc = fold(acc, every_second(a, b, 1));
    }
#else
    UNROLL(16)
    for (int j = 0; j < KW; j++)
        acc = j ? fold(acc, strided(p + j * DW)) : strided(p);
#endif
    return acc;
}

/* Vectors at columns x of one row; `cols` of the last one exist. */
INLINE void finish(const DTYPE *line, stored *out, const DTYPE *shares, DTYPE scale, i64 x,
                   const int vecs, const int cols)
{
    vec acc[TV];
    UNROLL(16)
    for (int t = 0; t < vecs; t++) {
        acc[t] = fold_columns(line + (x + t * VLEN) * SW);
        if (POOL_MEAN)
            acc[t] *= UNIFORM ? splat(scale) : load(shares + x + t * VLEN) * scale;
    }
    UNROLL(16)
    for (int t = 0; t < vecs; t++)
        stored_put(out + x + t * VLEN, acc[t], cols);
}

INLINE void row(const stored *plane, DTYPE *line, stored *out, const DTYPE *shares, i64 oy,
                const int rows, const int inside)
{
    const span y = inside ? (span){0, KH} : rows_of(oy);
    const stored *from = plane + (oy * SH - PT) * W;
    i64 x = 0;
    for (; x + TW * VLEN <= W; x += TW * VLEN)
        fold_rows(from, line, x, rows, TW, inside, y);
    for (; x + VLEN <= W; x += VLEN)
        fold_rows(from, line, x, rows, 1, inside, y);
    if (W % VLEN)
        fold_rows(from, line, W - VLEN, rows, 1, inside, y);
    for (int r = 0; r < rows; r++) {
        const DTYPE *l = line + r * LINE;
        stored *to = out + (oy + r) * OW;
        const DTYPE scale = UNIFORM ? share_of(KH, KW) : share_of(counted_rows(oy + r), 1);
        i64 ox = 0;
        for (; ox + TV * VLEN <= OW; ox += TV * VLEN)
            finish(l, to, shares, scale, ox, TV, VLEN);
        for (; ox + VLEN <= OW; ox += VLEN)
            finish(l, to, shares, scale, ox, 1, VLEN);
        if (OW % VLEN)
            finish(l, to, shares, scale, OW > VLEN ? OW - VLEN : 0, 1, MIN(OW, VLEN));
    }
}

/* arg: data, out, lines of the threads, shares */
void pool(void *const *arg)
{
    const stored *data = arg[0];
    const DTYPE *shares = arg[3];
    stored *out = arg[1];
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)PLANES * BANDS; task++) {
        const i64 p = task % PLANES, band = task / PLANES;
        const i64 last = (band + 1) * OH / BANDS;
        const stored *plane = data + p * ((i64)H * W);
        DTYPE *line = (DTYPE *)arg[2] + THREAD * (TH * LINE);
        stored *to = out + p * ((i64)OH * OW);
        for (i64 r = 0; r < TH; r++) {
            for (i64 x = 0; x < PL; x++)
                line[r * LINE + x] = POOL_START;
            for (i64 x = PL + W; x < LINE; x++)
                line[r * LINE + x] = POOL_START;
        }
        for (i64 oy = band * OH / BANDS; oy < last;) {
            if (oy < Y0 || oy >= Y1) {
                row(plane, line, to, shares, oy++, 1, 0);
            } else if (TH > 1 && oy + TH <= MIN(last, Y1)) {
                row(plane, line, to, shares, oy, TH, 1);
                oy += TH;
            } else {
                row(plane, line, to, shares, oy++, 1, 1);
            }
        }
    }
}
