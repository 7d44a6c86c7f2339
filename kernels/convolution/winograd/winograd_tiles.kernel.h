/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-dimensional transforms of the tiles of conv2d_winograd.cpu: 1, 2, 4 or 7 outputs of three
 * weights, stride 1 or 2. A body includes it once it has INLINE, DTYPE and `vec`.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_WINOGRAD_TILES_H
#define OPTUNE_KERNELS_CONVOLUTION_WINOGRAD_TILES_H

#include "kernels/convolution/winograd/winograd_points.kernel.h"

/* Stride 2 sees two sequences: the even inputs with two weights, by F(2,2) at 0, 1 and infinity
 * or F(4,2) at 0, 1, -1, 2 and infinity, and the odd inputs with one weight, as they are. A
 * tile of 1 is no transform at all.
 *
 * Tiles of 7, for rows of 7, 14, 28 ..., interpolate at pairs of points +-x and infinity:
 * F(7,3) at four pairs, F(7,2) at three and 0. */
INLINE DTYPE pair(const int stride, const int i)
{
    return stride == 2 ? PAIR_2(i) : PAIR_1(i);
}

/* The j-th of the pairs other than i, squared. */
INLINE DTYPE other(const int stride, const int i, const int j)
{
    const DTYPE x = pair(stride, j + (j >= i));
    return x * x;
}

/* Over the product of the differences to all other finite points, at x > 0. */
INLINE DTYPE norm(const int stride, const int i)
{
    const DTYPE x = pair(stride, i), z = x * x;
    if (stride == 2)
        return 1 / (2 * z * (z - other(2, i, 0)) * (z - other(2, i, 1)));
    return 1 / (2 * x * (z - other(1, i, 0)) * (z - other(1, i, 1)) * (z - other(1, i, 2)));
}

INLINE void weight_7(const int stride, const vec *g, vec *t)
{
    const int pairs = stride == 2 ? 3 : 4;
    UNROLL(16)
    for (int i = 0; i < pairs; i++) {
        const DTYPE x = pair(stride, i), n = norm(stride, i);
        const vec e = (stride == 2 ? g[0] : g[0] + g[2] * (x * x)) * n;
        const vec o = (stride == 2 ? g[2] : g[1]) * (x * n);
        t[2 * i] = e + o;
        t[2 * i + 1] = stride == 2 ? e - o : o - e;
    }
    if (stride == 1) {
        t[8] = g[2];
        return;
    }
    const DTYPE a = other(2, 3, 0), b = other(2, 3, 1), c = other(2, 3, 2);
    t[6] = g[0] * (-1 / (a * b * c));
    t[7] = g[2];
    t[8] = g[1];
}

/* A polynomial in x^2 with roots at three or two others' squares, on every second input. */
INLINE vec roots_3(const int i, const vec *d)
{
    const DTYPE a = other(1, i, 0), b = other(1, i, 1), c = other(1, i, 2);
    return (d[6] - d[4] * (a + b + c)) + (d[2] * (a * b + a * c + b * c) - d[0] * (a * b * c));
}
INLINE vec roots_2(const int i, const vec *d)
{
    const DTYPE a = other(2, i, 0), b = other(2, i, 1);
    return d[8] - d[4] * (a + b) + d[0] * (a * b);
}

INLINE void input_7(const int stride, const vec *d, vec *t)
{
    if (stride == 1) {
        UNROLL(16)
        for (int i = 0; i < 4; i++) {
            const vec o = roots_3(i, d + 1), e = roots_3(i, d) * pair(1, i);
            t[2 * i] = o + e;
            t[2 * i + 1] = o - e;
        }
        const DTYPE z = pair(1, 3) * pair(1, 3);
        t[8] = roots_3(3, d + 2) - roots_3(3, d) * z;
        return;
    }
    UNROLL(16)
    for (int i = 0; i < 3; i++) {
        const vec e = roots_2(i, d + 4), o = roots_2(i, d + 2) * pair(2, i);
        t[2 * i] = e + o;
        t[2 * i + 1] = e - o;
    }
    const DTYPE z = pair(2, 2) * pair(2, 2);
    t[6] = roots_2(2, d + 4) - roots_2(2, d) * z;
    t[7] = roots_2(2, d + 6) - roots_2(2, d + 2) * z;
    UNROLL(16)
    for (int i = 0; i < 7; i++)
        t[8 + i] = d[2 * i + 1];
}

INLINE void output_7(const int stride, const vec *t, vec *y)
{
    UNROLL(16)
    for (int k = 0; k < 7; k++)
        y[k] = stride == 2 ? t[8 + k] : (vec){0};
    y[6] += t[stride == 2 ? 7 : 8];
    if (stride == 2)
        y[0] += t[6];
    const int pairs = stride == 2 ? 3 : 4;
    UNROLL(16)
    for (int i = 0; i < pairs; i++) {
        const vec e = t[2 * i] + t[2 * i + 1], o = t[2 * i] - t[2 * i + 1];
        DTYPE power = 1;
        UNROLL(16)
        for (int k = 0; k < 7; k++) {
            y[k] += (k % 2 ? o : e) * power;
            power *= pair(stride, i);
        }
    }
}

INLINE void plain(const vec *from, vec *to)
{
    UNROLL(16)
    for (int i = 0; i < 3; i++)
        to[i] = from[i];
}

/* t = G g: three weights to the points of U, where odd inputs share one. */
INLINE void weight_1d(const int m, const int stride, const vec *g, vec *t)
{
    if (m == 1) {
        plain(g, t);
    } else if (m == 7) {
        weight_7(stride, g, t);
    } else if (stride == 2) {
        if (m == 2) {
            t[0] = g[0];
            t[1] = g[0] + g[2];
            t[2] = g[2];
        } else {
            t[0] = g[0] * (DTYPE)0.5;
            t[1] = (g[0] + g[2]) * (DTYPE)-0.5;
            t[2] = (g[2] - g[0]) * (DTYPE)(1 / 6.0);
            t[3] = (g[0] + 2 * g[2]) * (DTYPE)(1 / 6.0);
            t[4] = g[2];
        }
        t[m + 1] = g[1];
    } else {
        points_of_weight(m, g, t);
    }
}

/* t = B^T d: inputs to points. */
INLINE void input_1d(const int m, const int stride, const vec *d, vec *t)
{
    if (m == 1) {
        plain(d, t);
    } else if (m == 7) {
        input_7(stride, d, t);
    } else if (stride == 2) {
        if (m == 2) {
            t[0] = d[0] - d[2];
            t[1] = d[2];
            t[2] = d[4] - d[2];
        } else {
            const vec a = d[6] - d[4] - 2 * d[2], b = d[6] - d[2];
            t[0] = b + 2 * (d[0] - d[4]);
            t[1] = a;
            t[2] = d[6] - 3 * d[4] + 2 * d[2];
            t[3] = b;
            t[4] = d[8] - d[4] - 2 * b;
        }
        UNROLL(16)
        for (int i = 0; i < m; i++)
            t[m + 1 + i] = d[2 * i + 1];
    } else {
        points_of_input(m, d, t);
    }
}

/* y = A^T t: points to m outputs. */
INLINE void output_1d(const int m, const int stride, const vec *t, vec *y)
{
    if (m == 1) {
        y[0] = t[0] + t[1] + t[2];
    } else if (m == 7) {
        output_7(stride, t, y);
    } else if (stride == 2) {
        if (m == 2) {
            y[0] = t[0] + t[1] + t[3];
            y[1] = t[1] + t[2] + t[4];
        } else {
            const vec e = t[1] + t[2], o = t[1] - t[2];
            y[0] = t[0] + e + t[3] + t[5];
            y[1] = o + 2 * t[3] + t[6];
            y[2] = e + 4 * t[3] + t[7];
            y[3] = o + 8 * t[3] + t[4] + t[8];
        }
    } else {
        outputs_of_points(m, t, y);
    }
}

#endif
