/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d, generic: an item is an element of the output. Weights are OIHW. */
#include "kernels/common/generic_body.kernel.h"

typedef struct convolution {
    i64 n, ci, h, w, co, ci_g, kh, kw, oh, ow;
} convolution;

INLINE convolution convolution_of(const generic_call *c)
{
    DIMS(data, X0);
    DIMS(weight, X1);
    convolution s;
    s.n = data[0];
    s.ci = data[1] * IN_BLOCK;
    s.h = data[2];
    s.w = data[3];
    s.co = weight[0];
    s.ci_g = weight[1];
    s.kh = weight[2];
    s.kw = weight[3];
    s.oh = (s.h + PT + PB - DH * (s.kh - 1) - 1) / SH + 1;
    s.ow = (s.w + PL + PR - DW * (s.kw - 1) - 1) / SW + 1;
    return s;
}

INLINE i64 items(const generic_call *c)
{
    const convolution s = convolution_of(c);
    return s.n * s.co * s.oh * s.ow;
}

INLINE ACC sum_of(const generic_call *c, const convolution *s, i64 n, i64 co, i64 oy, i64 ox)
{
    const i64 channel = co / (s->co / GROUPS) * s->ci_g;
    ACC sum = 0;
    for (i64 i = 0; i < s->kh; i++) {
        const i64 y = oy * SH - PT + i * DH;
        for (i64 j = 0; y >= 0 && y < s->h && j < s->kw; j++) {
            const i64 x = ox * SW - PL + j * DW;
            for (i64 k = 0; x >= 0 && x < s->w && k < s->ci_g; k++) {
                const i64 ci = channel + k;
                const i64 plane = n * (s->ci / IN_BLOCK) + ci / IN_BLOCK;
                const i64 from = ((plane * s->h + y) * s->w + x) * IN_BLOCK + ci % IN_BLOCK;
                sum += (ACC)READ(0, from) *
                       (ACC)READ(1, ((co * s->ci_g + k) * s->kh + i) * s->kw + j);
            }
        }
    }
    return sum;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const convolution s = convolution_of(c);
    for (; first < last; first++) {
        const i64 lane = first % OUT_BLOCK, ox = first / OUT_BLOCK % s.ow;
        const i64 oy = first / OUT_BLOCK / s.ow % s.oh, plane = first / OUT_BLOCK / s.ow / s.oh;
        const i64 blocks = s.co / OUT_BLOCK;
        const i64 co = plane % blocks * OUT_BLOCK + lane;
        WRITE(0, first, sum_of(c, &s, plane / blocks, co, oy, ox));
    }
}

GENERIC_ENTRY
