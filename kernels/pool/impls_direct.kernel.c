/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling of NCHW in registers: tiles of TH rows x TV vectors along the width, straight from
 * the data. Columns whose windows meet the padding are computed one by one.
 *
 * The one idea: for a stride of 2, COLUMNS folds the rows of a window first, on contiguous
 * vectors, and takes every second element afterwards: a shuffle for each column of the
 * window instead of one for each tap. Loads never reach beyond the last tap.
 */
#define STORED_TENSORS
#include "kernels/pool/compute.kernel.h"

/* One vector of windows whose first tap is at p; kernel rows [k0, k1), all of them when
 * `known`. */
INLINE vec windows(const stored *p, const int known, const i64 k0, const i64 k1)
{
    vec acc = splat(POOL_START);
#if COLUMNS
    UNROLL(16)
    for (int j = 0; j < KW; j += 2) {
        const int two = j + 1 < KW; /* else the second half starts one early */
        vec a = splat(POOL_START), b = a;
        UNROLL(16)
        for (i64 i = k0; i < k1; i++) {
            const vec low = stored_load(p + i * (DH * W) + j);
            const vec high = stored_load(p + i * (DH * W) + j + (two ? VLEN : VLEN - 1));
            a = known && i == 0 ? low : fold(a, low);
            b = known && i == 0 ? high : fold(b, high);
        }
        if (two) {
            acc = j ? fold(acc, every_second(a, b, 0)) : every_second(a, b, 0);
            acc = fold(acc, every_second(a, b, 1));
        } else {
            exp_vec lane = {0};
            UNROLL(64)
            for (int l = 0; l < VLEN; l++)
                lane[l] = l < VLEN / 2 ? 2 * l : 2 * l + 1;
            a = __builtin_shuffle(a, b, lane);
            acc = j ? fold(acc, a) : a;
        }
    }
#else
    UNROLL(16)
    for (i64 i = k0; i < k1; i++) {
        UNROLL(16)
        for (int j = 0; j < KW; j++) {
            const vec x = stored_strided(p + i * (DH * W) + j * DW);
            acc = known && i == 0 && j == 0 ? x : fold(acc, x);
        }
    }
#endif
    return acc;
}

/* `inside`: all kernel rows, a constant; else [y.first, y.last) for one row. */
INLINE void tile(const stored *plane, stored *out, i64 oy, i64 ox, const int rows,
                 const int vecs, const int inside, span y, void *const *arg)
{
    const stored *from = plane + (oy * SH - PT) * W + ox * SW - PL;
    vec acc[TH][TV];
    UNROLL(16)
    for (int r = 0; r < rows; r++) {
        UNROLL(16)
        for (int t = 0; t < vecs; t++) {
            const stored *p = from + r * (SH * W) + t * (VLEN * SW);
            acc[r][t] = inside ? windows(p, 1, 0, KH) : windows(p, 0, y.first, y.last);
            if (POOL_MEAN)
                acc[r][t] *= share_of(inside ? KH : counted_rows(oy), KW);
        }
    }
    UNROLL(16)
    for (int r = 0; r < rows; r++) {
        UNROLL(16)
        for (int t = 0; t < vecs; t++)
            stored_store(out + (oy + r) * OW + ox + t * VLEN, acc[r][t]);
    }
}

INLINE DTYPE window(const stored *plane, i64 oy, i64 ox, span y, span x, void *const *arg)
{
    DTYPE acc = POOL_START;
    for (i64 i = y.first; i < y.last; i++)
        for (i64 j = x.first; j < x.last; j++)
            acc = fold1(
                acc, stored_value(plane[(oy * SH - PT + i * DH) * W + ox * SW - PL + j * DW]));
    return POOL_MEAN ? acc * share_of(counted_rows(oy), counted_cols(ox)) : acc;
}

INLINE void row(const stored *plane, stored *out, i64 oy, const int rows, const int inside,
                void *const *arg)
{
    const span y = inside ? (span){0, KH} : rows_of(oy);
    i64 ox = X0;
    for (; ox + TV * VLEN <= X1; ox += TV * VLEN)
        tile(plane, out, oy, ox, rows, TV, inside, y, arg);
    for (; ox + VLEN <= X1; ox += VLEN)
        tile(plane, out, oy, ox, rows, 1, inside, y, arg);
    if ((X1 - X0) % VLEN)
        tile(plane, out, oy, X1 - VLEN, rows, 1, inside, y, arg);
    for (int r = 0; r < rows; r++) {
        for (i64 x = 0; x < X0; x++)
            out[(oy + r) * OW + x] = stored_of(window(plane, oy + r, x, y, cols_of(x), arg));
        for (i64 x = X1; x < OW; x++)
            out[(oy + r) * OW + x] = stored_of(window(plane, oy + r, x, y, cols_of(x), arg));
    }
}

/* arg: data, out, and what is known at run time */
void pool(void *const *arg)
{
    const stored *data = arg[0];
    stored *out = arg[1];
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)PLANES * BANDS; task++) {
        const i64 p = task % PLANES, band = task / PLANES;
        const i64 last = (band + 1) * OH / BANDS;
        const stored *plane = data + p * ((i64)H * W);
        stored *to = out + p * ((i64)OH * OW);
        for (i64 oy = band * OH / BANDS; oy < last;) {
            if (oy < Y0 || oy >= Y1) {
                row(plane, to, oy++, 1, 0, arg);
            } else if (TH > 1 && oy + TH <= MIN(last, Y1)) {
                row(plane, to, oy, TH, 1, arg);
                oy += TH;
            } else {
                row(plane, to, oy++, 1, 1, arg);
            }
        }
    }
}
