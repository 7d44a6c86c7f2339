/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_winograd_rows.cpu: fewer multiplications along rows only, for kernels of any size over
 * few input channels. Macros from the plan: the shape, TILE (outputs of a tile, in a row), ROWS
 * (output rows of a block), GEMM_MR GEMM_NV GEMM_KU GEMM_AHEAD (the register tile of the
 * products: tiles of a row by vectors of output channels). It never runs along columns: with
 * few channels the transforms back would cost more than they save.
 *
 * The one idea: F(TILE, taps) takes one product at each of TILE + taps - 1 points, and what its
 * transform back does depends on the points alone. So kernel rows, input channels and, with a
 * stride of 2, the even and the odd taps (two convolutions of stride 1) are all summed up at
 * the points before anything is transformed back; the odd ones, fewer, use the first points
 * only.
 *
 *   V [point][input row][part][CI][QP]    U [panel][point][KH][part][CI][GEMM_NR]
 *   M [point][tile of a row][GEMM_NR]
 *
 * For one output row the depth (kernel row, part, channel) is contiguous in both V and U.
 *
 * Algorithm: Toom and Cook, transposed as in Winograd, "Arithmetic Complexity of Computations",
 * 1980. Point 0 is infinity.
 */
#include "kernels/convolution/planes.kernel.h"
#include "kernels/convolution/winograd/winograd_numbers.shared.h"

#define PARTS SW /* taps and inputs of each residue of the stride */
#define TAPS(p) ((KW - (p) + SW - 1) / SW)
#define POINTS_OF(p) (TILE + TAPS(p) - 1)
#define POINTS POINTS_OF(0)
#define SHARED POINTS_OF(PARTS - 1) /* points that all parts use */
#define PARTS_AT(i) ((i) < SHARED ? PARTS : 1)
/* Rows of unit length before point i. */
#define BEFORE(i) ((i) < SHARED ? (i)*PARTS : SHARED * PARTS + (i)-SHARED)

#define STEP (TILE * SW) /* input columns from tile to tile */
#define NQ CEIL_DIV(OW, TILE)
#define QP (CEIL_DIV(NQ, VLEN) * VLEN)
#define IN_ROWS ((ROWS - 1) * SH + KH)
#define V_POINT(i) ((i64)BEFORE(i) * IN_ROWS * CI * QP + (i)*VLEN)
#define V_SIZE V_POINT(POINTS)
#define M_POINT (NQ * GEMM_NR + VLEN)
#define M_SIZE ((i64)POINTS * M_POINT)
#define U_POINT(i) ((i64)BEFORE(i) * KH * CI * GEMM_NR)
#define PANELS CEIL_DIV(CO, GEMM_NR)
#define BLOCKS CEIL_DIV(OH, ROWS)

/* One input row by its residue modulo STEP: PHASE columns of each, as tiles overlap. */
#define PHASE (QP + CEIL_DIV(KW, STEP) + 1)
#define SPLIT (CEIL_DIV(PHASE * STEP, 2 * VLEN * STEP) * 2 * VLEN * STEP)
#define BAND_SIZE ((i64)MAX(2 * SPLIT, NQ * TILE * VLEN))

/* ---- the transform ------------------------------------------------------------------------ */

/* Finite points in use order. */
INLINE DTYPE point(const int i)
{
#if POINTS <= 4
    return ROW_POINT_4(i);
#elif POINTS == 5
    return ROW_POINT_5(i);
#elif POINTS == 6
    return ROW_POINT_6(i);
#elif POINTS == 7
    return ROW_POINT_7(i);
#else
    return ROW_POINT_9(i);
#endif
}

/* b[i] are the coefficients of the product of (x - point) over all finite points but the i-th;
 * b[0], of infinity, over all. `n` points, of which n - 1 are finite. */
static void input_matrix(DTYPE b[POINTS][POINTS], int n)
{
    for (int i = 0; i < n; i++) {
        double poly[POINTS + 1] = {1};
        int degree = 0;
        for (int l = 0; l < n - 1; l++) {
            if (l == i - 1)
                continue;
            degree++;
            for (int j = degree; j > 0; j--)
                poly[j] = poly[j - 1] - (double)point(l) * poly[j];
            poly[0] *= -(double)point(l);
        }
        for (int j = 0; j < n; j++)
            b[i][j] = j <= degree ? poly[j] : 0;
    }
}

/* The kernel's polynomial at point i, over the product of differences to the other points. */
static double weight_at(const DTYPE *w, int taps, int n, int i)
{
    if (i == 0)
        return w[(taps - 1) * SW];
    double sum = 0, power = 1, norm = 1;
    for (int j = 0; j < taps; j++, power *= (double)point(i - 1))
        sum += w[j * SW] * power;
    for (int l = 0; l < n - 1; l++)
        norm *= l == i - 1 ? 1 : (double)point(i - 1) - (double)point(l);
    return sum / norm;
}

INLINE DTYPE power(const DTYPE x, const int n)
{
    DTYPE p = 1;
    UNROLL(16)
    for (int i = 0; i < n; i++)
        p *= x;
    return p;
}

/* Points to outputs. Points of opposite signs are added and subtracted first. */
INLINE void output_1d(const vec *t, vec *y)
{
    UNROLL(16)
    for (int k = 0; k < TILE; k++)
        y[k] = k == TILE - 1 ? t[0] : (vec){0};
    y[0] += t[1];
    UNROLL(16)
    for (int i = 2; i < POINTS; i++) {
        const DTYPE x = point(i - 1);
        if (i + 1 < POINTS && point(i) == -x) {
            const vec even = t[i] + t[i + 1], odd = t[i] - t[i + 1];
            UNROLL(16)
            for (int k = 0; k < TILE; k++)
                y[k] += (k % 2 ? odd : even) * power(x, k);
        } else if (i == 2 || point(i - 2) != -x) {
            UNROLL(16)
            for (int k = 0; k < TILE; k++)
                y[k] += t[i] * power(x, k);
        }
    }
}

/* ---- weights: OIHW to U ------------------------------------------------------------------- */

/* arg: weight, U */
void transform_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *u = arg[1];
    PARALLEL_FOR
    for (i64 co = 0; co < (i64)PANELS * GEMM_NR; co++) {
        DTYPE *panel = u + co / GEMM_NR * U_POINT(POINTS) + co % GEMM_NR;
        for (int i = 0; i < POINTS; i++)
            for (i64 k = 0; k < (i64)KH * PARTS_AT(i) * CI; k++) {
                const i64 c = k % CI, part = k / CI % PARTS_AT(i), y = k / CI / PARTS_AT(i);
                const DTYPE *w = weight + ((co * CI + c) * KH + y) * KW + part;
                panel[U_POINT(i) + k * GEMM_NR] =
                    co < CO ? weight_at(w, TAPS(part), POINTS_OF(part), i) : 0;
            }
    }
}

/* ---- input to V --------------------------------------------------------------------------- */

/* `count` elements, whole pairs of vectors: even ones to `to`, odd ones to its second half. */
INLINE void split(DTYPE *to, const DTYPE *from, i64 count)
{
    vmask even;
    UNROLL(64)
    for (int l = 0; l < VLEN; l++)
        even[l] = 2 * l;
    for (i64 i = 0; i < count / 2; i += VLEN) {
        const vec a = load(from + 2 * i), b = load(from + 2 * i + VLEN);
        store(to + i, __builtin_shuffle(a, b, even));
        store(to + count / 2 + i, __builtin_shuffle(a, b, even + 1));
    }
}

/* The same by residue modulo 3, for whole triples of vectors. */
INLINE void split_3(DTYPE *to, const DTYPE *from, i64 count)
{
    vmask early, late[3];
    UNROLL(64)
    for (int l = 0; l < VLEN; l++) {
        early[l] = 3 * l;
        UNROLL(3)
        for (int s = 0; s < 3; s++)
            late[s][l] = 3 * l + s < 2 * VLEN ? l : 3 * l + s - VLEN;
    }
    for (i64 i = 0; i < count / 3; i += VLEN) {
        const vec a = load(from + 3 * i), b = load(from + 3 * i + VLEN);
        const vec c = load(from + 3 * i + 2 * VLEN);
        UNROLL(3)
        for (int s = 0; s < 3; s++)
            store(to + s * (count / 3) + i,
                  __builtin_shuffle(__builtin_shuffle(a, b, early + s), c, late[s]));
    }
}

/* SPLIT elements of a row by residue modulo STEP, each residue SPLIT / STEP apart; returns
 * where, `row` or `other`. Splitting in two again and again leaves residues in bit-reversed
 * order; STEP is a power of two, or three times one. */
#define POWER (STEP & -STEP)
INLINE DTYPE *phases(DTYPE *row, DTYPE *other)
{
    DTYPE *from = row, *to = other;
    UNROLL(1)
    for (i64 parts = 1; parts < POWER; parts *= 2) {
        for (i64 p = 0; p < parts; p++)
            split(to + p * (SPLIT / parts), from + p * (SPLIT / parts), SPLIT / parts);
        DTYPE *const swap = from;
        from = to;
        to = swap;
    }
    if (POWER == STEP)
        return from;
    for (i64 p = 0; p < POWER; p++)
        split_3(to + p * (SPLIT / POWER), from + p * (SPLIT / POWER), SPLIT / POWER);
    return to;
}

/* Where residue s went. */
INLINE i64 phase_of(const int s)
{
    int at = s / POWER;
    UNROLL(8)
    for (int bit = 1, top = STEP / 2; bit < POWER; bit *= 2, top /= 2)
        at += s & bit ? top : 0;
    return at;
}

/* Residue `part` of a row to its points of V. */
INLINE void input_part(const DTYPE *phase, DTYPE *v, const DTYPE (*b)[POINTS], i64 row, i64 c,
                       const int part)
{
    for (i64 q = 0; q < QP; q += VLEN) {
        vec d[POINTS];
        UNROLL(16)
        for (int j = 0; j < POINTS_OF(part); j++) {
            const int x = part + j * SW;
            d[j] = load(phase + phase_of(x % STEP) * (SPLIT / STEP) + q + x / STEP);
        }
        UNROLL(16)
        for (int i = 0; i < POINTS_OF(part); i++) {
            vec t = d[0] * b[i][0];
            UNROLL(16)
            for (int j = 1; j < POINTS_OF(part); j++)
                t += d[j] * b[i][j];
            store(v + V_POINT(i) + ((row * PARTS_AT(i) + part) * CI + c) * QP + q, t);
        }
    }
}

/* Input row y of image n to row `row` of V. */
INLINE void input_row(const DTYPE *data, i64 n, i64 y, DTYPE *v, i64 row, DTYPE *buffer,
                      const DTYPE (*b)[POINTS][POINTS])
{
    for (i64 c = 0; c < CI; c++) {
        const DTYPE *from = data + ((n * CI + c) * H + y) * W;
        const i64 count = MIN(W, SPLIT - PL);
        __builtin_memset(buffer, 0, PL * sizeof(DTYPE));
        __builtin_memcpy(buffer + PL, from, count * sizeof(DTYPE));
        __builtin_memset(buffer + PL + count, 0, (SPLIT - PL - count) * sizeof(DTYPE));
        const DTYPE *phase = phases(buffer, buffer + SPLIT);
        input_part(phase, v, b[0], row, c, 0);
        if (PARTS > 1)
            input_part(phase, v, b[PARTS - 1], row, c, PARTS - 1);
    }
}

/* ---- products, and M to output ------------------------------------------------------------ */

INLINE void product(const int rows, const DTYPE *v, const DTYPE *u, DTYPE *m, i64 depth)
{
    gemm_acc acc;
    gemm_start(acc, rows, 0, GEMM_NR);
    gemm_mac(acc, rows, depth, v, 1, QP, u, GEMM_NR);
    gemm_store(acc, rows, m, GEMM_NR, GEMM_NR);
}

/* All points of an output row: kernel rows [kh0, kh1) over V from row `row` on. */
INLINE void products(i64 row, i64 kh0, i64 kh1, const DTYPE *v, const DTYPE *u, DTYPE *m)
{
    for (int i = 0; i < POINTS; i++, m += M_POINT) {
        const i64 unit = (i64)PARTS_AT(i) * CI, depth = (kh1 - kh0) * unit;
        const DTYPE *a = v + V_POINT(i) + (row + kh0) * unit * QP;
        const DTYPE *b = u + U_POINT(i) + kh0 * unit * GEMM_NR;
        i64 q = 0;
        for (; q + GEMM_MR <= NQ; q += GEMM_MR)
            product(GEMM_MR, a + q, b, m + q * GEMM_NR, depth);
        if (NQ % GEMM_MR)
            product(NQ % GEMM_MR, a + q, b, m + q * GEMM_NR, depth);
    }
}

/* Row y of VLEN channels from c on. */
INLINE void output_row(DTYPE *out, i64 n, i64 c, i64 y, const DTYPE *m, DTYPE *band,
                       void *const *arg)
{
    DTYPE *to = planes_open(out, n, c, y * OW, band);
    for (i64 q = 0; q < NQ; q++) {
        vec t[POINTS], r[TILE];
        UNROLL(16)
        for (int i = 0; i < POINTS; i++)
            t[i] = load(m + i * M_POINT + q * GEMM_NR);
        output_1d(t, r);
        UNROLL(16)
        for (int k = 0; k < TILE; k++)
            if (OW % TILE == 0 || q * TILE + k < OW)
                store(to + (q * TILE + k) * PIXEL_OUT, r[k]);
    }
    planes_write(out, n, c, y * OW, OW, band, arg);
}

/* arg: data, U, out, V, M, bands */
void winograd_rows(void *const *arg)
{
    const DTYPE *data = arg[0], *u = arg[1];
    DTYPE *out = arg[2], *v_all = arg[3], *m_all = arg[4], *bands = arg[5];
    DTYPE b[PARTS][POINTS][POINTS];
    for (int part = 0; part < PARTS; part++)
        input_matrix(b[part], POINTS_OF(part));
    PARALLEL_FOR
    for (i64 it = 0; it < (i64)N * BLOCKS; it++) {
        const i64 n = it / BLOCKS, y0 = it % BLOCKS * ROWS, y1 = MIN(OH, y0 + ROWS);
        const i64 top = y0 * SH - PT; /* input row of row 0 of V */
        DTYPE *v = v_all + THREAD * V_SIZE, *m = m_all + THREAD * M_SIZE;
        DTYPE *band = bands + THREAD * BAND_SIZE;
        for (i64 y = MAX(0, top); y < MIN(H, (y1 - 1) * SH - PT + KH); y++)
            input_row(data, n, y, v, y - top, band, (const DTYPE(*)[POINTS][POINTS])b);
        for (i64 panel = 0; panel < PANELS; panel++)
            for (i64 y = y0; y < y1; y++) {
                const i64 from = y * SH - PT;
                products(from - top, MAX(0, -from), MIN(KH, H - from), v,
                         u + panel * U_POINT(POINTS), m);
                for (i64 j = 0; j < GEMM_NR && panel * GEMM_NR + j < CO; j += VLEN)
                    output_row(out, n, panel * GEMM_NR + j, y, m + j, band, arg);
            }
    }
}
