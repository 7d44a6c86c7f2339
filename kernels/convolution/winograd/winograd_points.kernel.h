/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-dimensional transforms of F(2,3) and F(4,3) with stride 1, for bodies on any target:
 * three weights to the points, m + 2 inputs to the points, points to m outputs. A body includes
 * it once it has INLINE, DTYPE and `vec`, what it computes on: a vector of channels, or one
 * number.
 *
 * Algorithm: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016; the
 * matrices are derived from the interpolation points as Toom and Cook do.
 */
#ifndef OPTUNE_KERNELS_CONV2D_WINOGRAD_POINTS_H
#define OPTUNE_KERNELS_CONV2D_WINOGRAD_POINTS_H

#include "kernels/convolution/winograd/winograd_numbers.shared.h"

#define P1 ((DTYPE)(POINT_P))
#define P2 ((DTYPE)(POINT_P * POINT_P))
#define P3 ((DTYPE)(POINT_P * POINT_P * POINT_P))
#define Q1 ((DTYPE)(POINT_Q))
#define Q2 ((DTYPE)(POINT_Q * POINT_Q))
#define Q3 ((DTYPE)(POINT_Q * POINT_Q * POINT_Q))
#define P2Q2 ((DTYPE)(POINT_P * POINT_P * POINT_Q * POINT_Q))
#define P2_PLUS_Q2 ((DTYPE)(POINT_P * POINT_P + POINT_Q * POINT_Q))
#define NORM_P ((DTYPE)(1 / (2 * POINT_P * POINT_P * (POINT_P * POINT_P - POINT_Q * POINT_Q))))
#define NORM_Q ((DTYPE)(1 / (2 * POINT_Q * POINT_Q * (POINT_Q * POINT_Q - POINT_P * POINT_P))))

/* t = G g */
INLINE void points_of_weight(const int m, const vec *g, vec *t)
{
    if (m == 2) {
        const vec e = (g[0] + g[2]) * (DTYPE)0.5, o = g[1] * (DTYPE)0.5;
        t[0] = -g[0];
        t[1] = e + o;
        t[2] = e - o;
        t[3] = g[2];
    } else {
        const vec ep = (g[0] + g[2] * P2) * NORM_P, op = g[1] * (P1 * NORM_P);
        const vec eq = (g[0] + g[2] * Q2) * NORM_Q, oq = g[1] * (Q1 * NORM_Q);
        t[0] = g[0] * (1 / P2Q2);
        t[1] = ep + op;
        t[2] = ep - op;
        t[3] = eq + oq;
        t[4] = eq - oq;
        t[5] = g[2];
    }
}

/* t = B^T d */
INLINE void points_of_input(const int m, const vec *d, vec *t)
{
    if (m == 2) {
        t[0] = d[2] - d[0];
        t[1] = d[2] + d[1];
        t[2] = d[2] - d[1];
        t[3] = d[3] - d[1];
    } else {
        const vec ep = d[4] - d[2] * Q2, op = d[3] - d[1] * Q2;
        const vec eq = d[4] - d[2] * P2, oq = d[3] - d[1] * P2;
        t[0] = d[0] * P2Q2 + (d[4] - d[2] * P2_PLUS_Q2);
        t[1] = ep + op * P1;
        t[2] = ep - op * P1;
        t[3] = eq + oq * Q1;
        t[4] = eq - oq * Q1;
        t[5] = d[1] * P2Q2 + (d[5] - d[3] * P2_PLUS_Q2);
    }
}

/* y = A^T t */
INLINE void outputs_of_points(const int m, const vec *t, vec *y)
{
    if (m == 2) {
        y[0] = t[0] + (t[1] + t[2]);
        y[1] = t[3] + (t[1] - t[2]);
    } else {
        const vec ep = t[1] + t[2], op = t[1] - t[2], eq = t[3] + t[4], oq = t[3] - t[4];
        y[0] = t[0] + (ep + eq);
        y[1] = op * P1 + oq * Q1;
        y[2] = ep * P2 + eq * Q2;
        y[3] = op * P3 + (oq * Q3 + t[5]);
    }
}

#endif
