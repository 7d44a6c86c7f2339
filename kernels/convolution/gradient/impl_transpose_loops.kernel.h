/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_transpose, generic: an item is an element of the output, which gathers. */
#include "kernels/common/generic_body.kernel.h"

typedef struct convolution {
    i64 n, ci, h, w, co_g, kh, kw, oh, ow;
} convolution;

INLINE convolution convolution_of(const generic_call *c)
{
    DIMS(data, X0);
    DIMS(weight, X1);
    convolution s;
    s.n = data[0];
    s.ci = data[1];
    s.h = data[2];
    s.w = data[3];
    s.co_g = weight[1];
    s.kh = weight[2];
    s.kw = weight[3];
    s.oh = (s.h - 1) * SH - PT - PB + DH * (s.kh - 1) + 1 + MORE_H;
    s.ow = (s.w - 1) * SW - PL - PR + DW * (s.kw - 1) + 1 + MORE_W;
    return s;
}

INLINE i64 items(const generic_call *c)
{
    const convolution s = convolution_of(c);
    return s.n * s.co_g * GROUPS * s.oh * s.ow;
}

/* The row or column of the data that this tap brings here; -1: none. */
INLINE i64 source(i64 at, i64 stride, i64 extent)
{
    return at < 0 || at % stride || at / stride >= extent ? -1 : at / stride;
}

INLINE ACC sum_of(const generic_call *c, const convolution *s, i64 n, i64 co, i64 oy, i64 ox)
{
    const i64 ci_g = s->ci / GROUPS, channel = co / s->co_g * ci_g;
    ACC sum = 0;
    for (i64 i = 0; i < s->kh; i++) {
        const i64 y = source(oy + PT - i * DH, SH, s->h);
        for (i64 j = 0; y >= 0 && j < s->kw; j++) {
            const i64 x = source(ox + PL - j * DW, SW, s->w);
            for (i64 k = 0; x >= 0 && k < ci_g; k++) {
                const i64 ci = channel + k;
                sum += (ACC)READ(0, ((n * s->ci + ci) * s->h + y) * s->w + x) *
                       (ACC)READ(1, ((ci * s->co_g + co % s->co_g) * s->kh + i) * s->kw + j);
            }
        }
    }
    return sum;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const convolution s = convolution_of(c);
    const i64 channels = s.co_g * GROUPS;
    for (; first < last; first++) {
        const i64 ox = first % s.ow, oy = first / s.ow % s.oh, plane = first / s.ow / s.oh;
        WRITE(0, first, sum_of(c, &s, plane / channels, plane % channels, oy, ox));
    }
}

GENERIC_ENTRY
