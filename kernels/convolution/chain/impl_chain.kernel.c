/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_depthwise_conv2d.cpu on vectors of channels. Macros from the plan: the shape of the
 * depthwise convolution with CI channels in front of the pointwise one, BIAS, BETWEEN, VEC_BYTES;
 * TP pixels x TV vectors, the register tile of the pointwise convolution; TW output pixels, that
 * of the depthwise one; STEP, output rows computed behind each other; PASS, tiles of channels that
 * go through the rows together; BAND, output rows of a task.
 *
 * The one idea: the value between the two is several times as large as what comes in and goes out,
 * and each of its rows is needed for a few rows of the output only. So a thread keeps a ring of as
 * many rows as a step's windows span, for a few vectors of channels: the pointwise convolution
 * writes the rows that are new, the depthwise one reads them where they are still in the nearest
 * cache. The ring's rows have the padding beside them, rows above and below are left out.
 *
 * New rows are one range of pixels for the pointwise convolution, whose tile may begin in one row
 * and end in the next: the ragged last tile computes some pixels again instead.
 */
#include "kernels/convolution/chain/between.kernel.h"
#include "kernels/convolution/planes.kernel.h"

#define TAPS (KH * KW)
#define VECS CEIL_DIV(CO, VLEN)
#define TILES CEIL_DIV(VECS, TV)
#define PASSES CEIL_DIV(TILES, PASS)
#define BANDS CEIL_DIV(OH, BAND)
#define FAR_ROW ((KH - 1) * DH)
#define FAR_COL ((KW - 1) * DW)
#define KEPT MIN(H, (STEP - 1) * SH + FAR_ROW + 1)
#define PITCH ((i64)MAX(W + PL, (OW - 1) * SW + FAR_COL + 1) * VLEN)
#define RING (KEPT * PITCH)
#define RESULT_SIZE (OUT_DIRECT ? 0 : (i64)STEP * OW * VLEN)
#define PLANE ((i64)H * W)
#if IN_BLOCK
#define UNROLL_BLOCKS 1
#define UNROLL_CHANNELS (IN_C > 8 ? 8 : IN_C)
#else
#define UNROLL_BLOCKS 4
#define UNROLL_CHANNELS 1
#endif

/* What is packed: pointwise weights [tile][CI][TV][VLEN], depthwise ones [vector][tap][VLEN], the
 * bias [vector][VLEN]; channels that there are not are zeros. */
#define PACKED_DEPTHWISE ((i64)TILES * CI * TV * VLEN)
#define PACKED_BIAS (PACKED_DEPTHWISE + (i64)TILES * TV * TAPS * VLEN)

/* arg: pointwise [CO][CI], depthwise [CO][TAPS], packed, bias [CO] */
void pack_weights(void *const *arg)
{
    const DTYPE *first = arg[0], *second = arg[1];
    DTYPE *packed = arg[2];
    PARALLEL_FOR
    for (i64 v = 0; v < TILES * TV; v++) {
        DTYPE *to = packed + v / TV * (CI * TV * VLEN) + v % TV * VLEN;
        for (i64 l = 0; l < VLEN; l++) {
            const i64 c = v * VLEN + l;
            for (i64 k = 0; k < CI; k++)
                to[k * (TV * VLEN) + l] = c < CO ? first[c * CI + k] : 0;
            for (i64 k = 0; k < TAPS; k++)
                packed[PACKED_DEPTHWISE + (v * TAPS + k) * VLEN + l] =
                    c < CO ? second[c * TAPS + k] : 0;
            packed[PACKED_BIAS + c] =
                BIAS && c < CO ? ((const DTYPE *)arg[BIAS ? 3 : 0])[c] : 0;
        }
    }
}

/* ---- pointwise --------------------------------------------------------------------------- */

/* TP pixels from `from` on; those before `first` belong at `a`, the others at `b`, both as if
 * pixel 0 lay there. */
INLINE void expand_tile(const DTYPE *from, const DTYPE *w, const DTYPE *bias, DTYPE *a,
                        DTYPE *b, i64 first)
{
    vec acc[TP][TV];
    UNROLL(32)
    for (int p = 0; p < TP; p++) {
        UNROLL(8)
        for (int t = 0; t < TV; t++)
            acc[p][t] = load(bias + t * VLEN);
    }
    UNROLL(UNROLL_BLOCKS)
    for (i64 c = 0; c < CI / IN_C; c++) {
        UNROLL(UNROLL_CHANNELS)
        for (int k = 0; k < IN_C; k++) {
            vec wv[TV];
            UNROLL(8)
            for (int t = 0; t < TV; t++)
                wv[t] = load(w + ((c * IN_C + k) * TV + t) * VLEN);
            UNROLL(32)
            for (int p = 0; p < TP; p++) {
                const DTYPE x = from[c * PLANE * IN_C + p * IN_C + k];
                UNROLL(8)
                for (int t = 0; t < TV; t++)
                    acc[p][t] += wv[t] * x;
            }
        }
    }
    UNROLL(32)
    for (int p = 0; p < TP; p++) {
        DTYPE *to = (p < first ? a : b) + p * VLEN;
        UNROLL(8)
        for (int t = 0; t < TV; t++)
            store(to + t * RING, activated(acc[p][t]));
    }
}

/* Rows [y0, y1) of TV vectors of channels. */
static __attribute__((noinline)) void expand(const DTYPE *image, const DTYPE *w,
                                             const DTYPE *bias, DTYPE *ring, i64 y0, i64 y1)
{
    const i64 end = y1 * W;
    for (i64 p = y0 * W; p < end; p += TP) {
        p = MIN(p, end - TP);
        const i64 y = p / W, x = p % W, first = W - x;
        DTYPE *a = ring + y % KEPT * PITCH + (PL + x) * VLEN;
        DTYPE *b = ring + (y + 1) % KEPT * PITCH + (PL - first) * VLEN;
        expand_tile(image + p * IN_C, w, bias, a, b, first);
    }
}

/* ---- depthwise --------------------------------------------------------------------------- */

/* One row of taps. */
INLINE void taps(vec acc[TW], const DTYPE *w, const DTYPE *from, const int cols)
{
    UNROLL(32)
    for (int kw = 0; kw < KW; kw++) {
        const vec wv = load(w + kw * VLEN);
        UNROLL(32)
        for (int t = 0; t < cols; t++)
            acc[t] += wv * load(from + (t * SW + kw * DW) * VLEN);
    }
}

/* `cols` pixels of one row, taps of kernel rows [k0, k1) where `clipped`, else all; `o` is the
 * index of the first in the output, which knows what is fused. */
INLINE void depth_tile(const DTYPE *const *row, const DTYPE *w, i64 ox, DTYPE *to,
                       const int cols, const int clipped, i64 k0, i64 k1, void *const *arg,
                       i64 o)
{
    vec acc[TW];
    UNROLL(32)
    for (int t = 0; t < cols; t++)
        acc[t] = (vec){0};
    if (clipped) {
        UNROLL(1)
        for (i64 k = k0; k < k1; k++)
            taps(acc, w + k * (KW * VLEN), row[k] + ox * SW * VLEN, cols);
    } else {
        UNROLL(8)
        for (i64 k = 0; k < KH; k++)
            taps(acc, w + k * (KW * VLEN), row[k] + ox * SW * VLEN, cols);
    }
    UNROLL(32)
    for (int t = 0; t < cols; t++) {
        if (OUT_DIRECT && EPILOGUE)
            acc[t] = epilogue(acc[t], arg, o + t * PIXEL_OUT, VLEN);
        store(to + t * PIXEL_OUT, acc[t]);
    }
    (void)arg;
    (void)o;
}

INLINE void depth_row(const DTYPE *const *row, const DTYPE *w, DTYPE *to, const int clipped,
                      i64 k0, i64 k1, void *const *arg, i64 o)
{
    i64 x = 0;
    for (; x + TW <= OW; x += TW)
        depth_tile(row, w, x, to + x * PIXEL_OUT, TW, clipped, k0, k1, arg, o + x * PIXEL_OUT);
    if (OW % TW)
        depth_tile(row, w, x, to + x * PIXEL_OUT, OW % TW, clipped, k0, k1, arg,
                   o + x * PIXEL_OUT);
}

/* Output rows [first, last) of one vector of channels; the first one is written to `to`. */
static __attribute__((noinline)) void depth(const DTYPE *ring, const DTYPE *w, DTYPE *to,
                                            i64 first, i64 last, void *const *arg, i64 o)
{
    for (i64 oy = first; oy < last; oy++) {
        const i64 y = oy * SH - PT;
        const i64 k0 = y < 0 ? MIN(KH, CEIL_DIV(-y, DH)) : 0;
        const i64 k1 = y >= H ? k0 : MAX(k0, MIN(KH, CEIL_DIV(H - y, DH)));
        const DTYPE *row[KH];
        for (i64 k = k0; k < k1; k++)
            row[k] = ring + (y + k * DH) % KEPT * PITCH;
        if (k0 == 0 && k1 == KH)
            depth_row(row, w, to, 0, 0, KH, arg, o);
        else
            depth_row(row, w, to, 1, k0, k1, arg, o);
        to += OW * PIXEL_OUT;
        o += OW * PIXEL_OUT;
    }
}

/* ---- both -------------------------------------------------------------------------------- */

/* The columns of padding of every row. */
static void clear_edges(DTYPE *ring)
{
    for (i64 r = 0; r < PASS * TV * KEPT; r++, ring += PITCH) {
        for (i64 i = 0; i < PL * VLEN; i++)
            ring[i] = 0;
        for (i64 i = (PL + W) * VLEN; i < PITCH; i++)
            ring[i] = 0;
    }
}

/* arg: data, packed, out, buffers */
void chain(void *const *arg)
{
    const DTYPE *data = arg[0], *packed = arg[1];
    DTYPE *out = arg[2], *buffers = arg[3];
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)N * PASSES * BANDS; task++) {
        const i64 low = task % BANDS * BAND, high = MIN(low + BAND, OH);
        const i64 pass = task / BANDS % PASSES, n = task / BANDS / PASSES;
        const i64 t0 = pass * PASS, t1 = MIN(TILES, t0 + PASS);
        const DTYPE *image = data + n * CI * PLANE;
        DTYPE *ring = buffers + THREAD * (PASS * TV * RING + RESULT_SIZE);
        DTYPE *result = ring + PASS * TV * RING;
        i64 have = 0;
        clear_edges(ring);
        for (i64 oy = low; oy < high; oy += STEP) {
            const i64 end = MIN(oy + STEP, high);
            const i64 y0 = MAX(have, oy * SH - PT);
            const i64 y1 = MIN(H, (end - 1) * SH - PT + FAR_ROW + 1);
            for (i64 t = t0; t < t1; t++) {
                DTYPE *rows = ring + (t - t0) * (TV * RING);
                if (y0 < y1)
                    expand(image, packed + t * (CI * TV * VLEN),
                           packed + PACKED_BIAS + t * (TV * VLEN), rows, y0, y1);
                for (i64 v = t * TV; v < MIN(VECS, (t + 1) * TV); v++) {
                    DTYPE *to = planes_open(out, n, v * VLEN, oy * OW, result);
                    depth(rows + (v - t * TV) * RING,
                          packed + PACKED_DEPTHWISE + v * (TAPS * VLEN), to, oy, end, arg,
                          OUT_DIRECT ? to - out : 0);
                    if (!OUT_DIRECT)
                        planes_write(out, n, v * VLEN, oy * OW, (end - oy) * OW, result, arg);
                }
            }
            have = MAX(have, y1);
        }
    }
}
