/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the pixels of an output look in the input, tap by tap: for bodies that compute convolutions
 * as products over pixels, whatever multiplies. Macros: the shape, INDEX, and of
 *   TRANSPOSED        windows slide over the output (conv2d_transpose)
 *   WEIGHT_GRADIENT   the weight is the output's gradient, the output the weight's: a convolution
 *                     whose images and channels have changed places (conv2d_backward_weight)
 * at most one.
 */
#ifndef OPTUNE_KERNELS_CONV2D_PIXELS_GPU_H
#define OPTUNE_KERNELS_CONV2D_PIXELS_GPU_H

#define TAPS (KH * KW)
#define PLANE_IN (H * W)
#define PLANE_OUT (OH * OW)
#define PIXELS ((INDEX)N * PLANE_OUT) /* of all images */

/* Where a pixel of the output looks: `plane` is the first element of its image (and
 * of more, as the body lays out the input), y and x the place of tap 0. */
typedef struct pixel {
    INDEX plane;
    int y, x;
    bool inside;
} pixel;

#if TRANSPOSED
#define FIRST(o, stride, pad) ((o) + (pad))
/* The input row or column that tap offset `at` meets; -1: none. */
INLINE int source(int first, int at, int stride, int extent, bool always)
{
    const int t = first - at;
    (void)always;
    return t >= 0 && t % stride == 0 && t / stride < extent ? t / stride : -1;
}
#else
#define FIRST(o, stride, pad) ((o) * (stride) - (pad))
INLINE int source(int first, int at, int stride, int extent, bool always)
{
    const int t = first + at;
    (void)stride;
    return always || (t >= 0 && t < extent) ? t : -1;
}
#endif

/* Pixel `m` of all; images are `image` elements apart and begin with element `first`. */
INLINE pixel pixel_of(INDEX m, INDEX image, INDEX first)
{
    pixel p;
    const int at = (int)(m % PLANE_OUT);
    p.inside = m < PIXELS;
    p.plane = m / PLANE_OUT * image + first;
    p.y = FIRST(at / OW, SH, PT);
    p.x = FIRST(at % OW, SW, PL);
    return p;
}

/* Where the pixel looks at a tap, from the start of a plane; -1: nowhere. */
INLINE int look(const pixel *p, int tap)
{
    const int y = source(p->y, tap / KW * DH, SH, H, PT + PB == 0 && !TRANSPOSED);
    const int x = source(p->x, tap % KW * DW, SW, W, PL + PR == 0 && !TRANSPOSED);
    return p->inside && y >= 0 && x >= 0 ? y * W + x : -1;
}

/* The weight of channels c, f of a group at a tap. */
#if TRANSPOSED
#define WEIGHT_AT(g, f, c, tap) ((((i64)(g)*CI_G + (c)) * CO_G + (f)) * TAPS + (tap))
#elif WEIGHT_GRADIENT
#define WEIGHT_AT(g, f, c, tap) ((((i64)(c)*GROUPS + (g)) * CO_G + (f)) * TAPS + (tap))
#else
#define WEIGHT_AT(g, f, c, tap) ((((i64)(g)*CO_G + (f)) * CI_G + (c)) * TAPS + (tap))
#endif

#endif
