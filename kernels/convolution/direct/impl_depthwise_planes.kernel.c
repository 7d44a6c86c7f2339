/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise_conv2d_planes.cpu. Macros from the plan: the shape, TH rows x TV vectors of a tile,
 * ROWS output rows of a band, PITCH (columns of a phase), BAND (elements of a thread's band),
 * CHUNKS (parts of the planes that are tasks).
 *
 * The one idea: a band has SW phases, phase p holding the padded columns p, p + SW, p + 2 SW
 * ... of every row; so the column that tap kw of output ox needs is number ox + kw * DW / SW of
 * phase kw * DW % SW, and neighbours in the output are neighbours in a phase, whatever the
 * stride.
 */
#define STORED_TENSORS
#include "kernels/common/stored.kernel.h"

#define FAR_ROW ((KH - 1) * DH)
#define IN_ROWS(rows) (((rows)-1) * SH + FAR_ROW + 1)
#define ROW_IN ((i64)SW * PITCH) /* from one row of a band to the next */

/* One row of the data into the phases of a row of the band; padding stays as it is. */
INLINE void split(const stored *restrict from, DTYPE *restrict to)
{
#if STORED_HALF && SW == 2
    /* Words of two numbers, those at even and at odd columns of the data. */
    const i64 even = PL / 2, odd = (PL + 1) / 2;
    DTYPE *at[2] = {to + PL % 2 * (i64)PITCH + even, to + (1 - PL % 2) * (i64)PITCH + odd};
    const i64 most[2] = {MIN((W + 1) / 2, PITCH - even), MIN(W / 2, PITCH - odd)};
    i64 j = 0;
    for (; j + VLEN <= MIN(most[0], most[1]); j += VLEN) {
        const float_bits pair = *(const float_bits_at *)(from + 2 * j);
        store(at[0] + j, stored_low(pair));
        store(at[1] + j, stored_high(pair));
    }
    for (int k = 0; k < 2; k++)
        for (i64 i = j; i < most[k]; i++)
            at[k][i] = stored_value(from[2 * i + k]);
    return;
#endif
    UNROLL(4)
    for (int p = 0; p < SW; p++) {
        const i64 first = p >= PL ? 0 : (PL - p + SW - 1) / SW;
        const i64 last = MIN((i64)PITCH, W + PL <= p ? 0 : (W + PL - p - 1) / SW + 1);
#if SW == 1
        stored_read(to + first, from + first - PL, last - first);
#else
        for (i64 j = first; j < last; j++)
            to[p * PITCH + j] = stored_value(from[j * SW + p - PL]);
#endif
    }
}

/* Output rows [oy, oy + rows) need these rows of the data. */
INLINE void fill(const stored *plane, DTYPE *band, i64 oy, i64 rows, void *const *arg)
{
    for (i64 r = 0; r < IN_ROWS(rows); r++) {
        const i64 y = oy * SH - PT + r;
        if (y >= 0 && y < H)
            split(plane + y * W, band + r * ROW_IN);
        else
            for (i64 j = 0; j < ROW_IN; j++)
                band[r * ROW_IN + j] = 0;
    }
}

/* rows x vecs vectors, `cols` lanes of each; `to` is element o of the output. */
INLINE void tile(const DTYPE *band, const DTYPE *w, stored *to, const int rows, const int vecs,
                 void *const *arg, i64 o)
{
    vec acc[TH][TV];
    UNROLL(16)
    for (int r = 0; r < rows; r++) {
        UNROLL(16)
        for (int v = 0; v < vecs; v++)
            acc[r][v] = (vec){0};
    }
    UNROLL(32)
    for (int y = 0; y < IN_ROWS(rows); y++) {
        UNROLL(16)
        for (int k = 0; k < KW; k++) {
            UNROLL(16)
            for (int v = 0; v < vecs; v++) {
                const vec x =
                    load(band + y * ROW_IN + k * DW % SW * PITCH + k * DW / SW + v * VLEN);
                UNROLL(16)
                for (int r = 0; r < rows; r++)
                    if (y >= r * SH && y <= r * SH + FAR_ROW && (y - r * SH) % DH == 0)
                        acc[r][v] += x * w[(y - r * SH) / DH * KW + k];
            }
        }
    }
    UNROLL(16)
    for (int r = 0; r < rows; r++) {
        UNROLL(16)
        for (int v = 0; v < vecs; v++) {
            const i64 at = (i64)r * OW + v * VLEN;
            stored_store(to + at, stored_fused(acc[r][v], arg, o + at, VLEN));
        }
    }
}

/* All columns of `rows` output rows; the last vector overlaps its neighbour. */
INLINE void row(const DTYPE *band, const DTYPE *w, stored *to, const int rows, void *const *arg,
                i64 o)
{
    i64 x = 0;
    for (; x + TV * VLEN <= OW; x += TV * VLEN)
        tile(band + x, w, to + x, rows, TV, arg, o + x);
    for (; TV > 1 && x + VLEN <= OW; x += VLEN)
        tile(band + x, w, to + x, rows, 1, arg, o + x);
    if (OW % VLEN)
        tile(band + OW - VLEN, w, to + OW - VLEN, rows, 1, arg, o + OW - VLEN);
}

/* arg: data, weight, out, bands of the threads, and the dims that vary */
void depthwise(void *const *arg)
{
    const stored *data = arg[0], *weight = arg[1];
    stored *out = arg[2];
    PARALLEL_FOR
    for (i64 chunk = 0; chunk < CHUNKS; chunk++) {
        DTYPE *band = (DTYPE *)arg[3] + THREAD * (i64)BAND;
        for (i64 i = 0; i < BAND; i++)
            band[i] = 0;
        for (i64 p = chunk * N * CI / CHUNKS; p < (chunk + 1) * N * CI / CHUNKS; p++)
            for (i64 first = 0; first < OH; first += ROWS) {
                const i64 rows = MIN(ROWS, OH - first);
                fill(data + p * ((i64)H * W), band, first, rows, arg);
                for (i64 m = 0; m < CO_G; m++) {
                    const stored *taps = weight + (p % CI * CO_G + m) * (KH * KW);
#if STORED_HALF
                    DTYPE w[KH * KW];
                    stored_read(w, taps, KH * KW);
#else
                    const DTYPE *w = taps;
#endif
                    const i64 o = ((p * CO_G + m) * OH + first) * OW;
                    i64 y = 0;
                    for (; y + TH <= rows; y += TH)
                        row(band + y * SH * ROW_IN, w, out + o + y * OW, TH, arg, o + y * OW);
                    for (; TH > 1 && y < rows; y++)
                        row(band + y * SH * ROW_IN, w, out + o + y * OW, 1, arg, o + y * OW);
                }
            }
    }
}
