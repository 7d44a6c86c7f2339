/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise_depthwise_conv2d, generic. PART 1: an item is an element of the value in between, which
 * is written; 2: one of the output, for which what lies under its window is read; 0: or computed,
 * each time. */
#include "kernels/common/generic_scalar.kernel.h"

typedef struct chain {
    i64 n, ci, h, w, co, kh, kw, oh, ow;
} chain;

INLINE chain chain_of(const generic_call *c)
{
    DIMS(data, X0);
    DIMS(weight, X2);
    chain s;
    s.n = data[0];
    s.ci = data[1] * IN_BLOCK;
    s.h = data[2];
    s.w = data[3];
    s.co = weight[0];
    s.kh = weight[2];
    s.kw = weight[3];
    s.oh = (s.h + PT + PB - DH * (s.kh - 1) - 1) / SH + 1;
    s.ow = (s.w + PL + PR - DW * (s.kw - 1) - 1) / SW + 1;
    return s;
}

INLINE i64 items(const generic_call *c)
{
    const chain s = chain_of(c);
    return s.n * s.co * (PART == 1 ? s.h * s.w : s.oh * s.ow);
}

/* The numbers are those of chain_between in chain.h. */
INLINE SCALAR activated(SCALAR x)
{
#if BETWEEN == 1
    return s_max(x, (SCALAR)0);
#elif BETWEEN == 2
    return s_min(s_max(x, (SCALAR)0), (SCALAR)6);
#elif BETWEEN == 3
    return x * s_min(s_max(x / (SCALAR)6 + (SCALAR)0.5, (SCALAR)0), (SCALAR)1);
#elif BETWEEN == 4
    return x * s_sigmoid(x);
#else
    return x;
#endif
}

INLINE SCALAR expanded(const generic_call *c, const chain *s, i64 n, i64 co, i64 y, i64 x)
{
    SCALAR sum = 0;
    for (i64 k = 0; k < s->ci; k++) {
        const i64 plane = n * (s->ci / IN_BLOCK) + k / IN_BLOCK;
        const i64 from = ((plane * s->h + y) * s->w + x) * IN_BLOCK + k % IN_BLOCK;
        sum += (SCALAR)READ(0, from) * (SCALAR)READ(1, co * s->ci + k);
    }
#if BIASED
    sum += (SCALAR)READ(3, co);
#endif
    return activated(sum);
}

#if PART == 1
INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const chain s = chain_of(c);
    for (; first < last; first++) {
        const i64 x = first % s.w, y = first / s.w % s.h, plane = first / s.w / s.h;
        WRITE(0, first, expanded(c, &s, plane / s.co, plane % s.co, y, x));
    }
}
#else
INLINE SCALAR between(const generic_call *c, const chain *s, i64 n, i64 co, i64 y, i64 x)
{
#if PART == 0
    return expanded(c, s, n, co, y, x);
#elif BIASED
    return c->x4[((n * s->co + co) * s->h + y) * s->w + x];
#else
    return c->x3[((n * s->co + co) * s->h + y) * s->w + x];
#endif
}

INLINE SCALAR sum_of(const generic_call *c, const chain *s, i64 n, i64 co, i64 oy, i64 ox)
{
    SCALAR sum = 0;
    for (i64 i = 0; i < s->kh; i++) {
        const i64 y = oy * SH - PT + i * DH;
        for (i64 j = 0; y >= 0 && y < s->h && j < s->kw; j++) {
            const i64 x = ox * SW - PL + j * DW;
            if (x >= 0 && x < s->w)
                sum +=
                    between(c, s, n, co, y, x) * (SCALAR)READ(2, (co * s->kh + i) * s->kw + j);
        }
    }
    return sum;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const chain s = chain_of(c);
    for (; first < last; first++) {
        const i64 lane = first % OUT_BLOCK, ox = first / OUT_BLOCK % s.ow;
        const i64 oy = first / OUT_BLOCK / s.ow % s.oh, plane = first / OUT_BLOCK / s.ow / s.oh;
        const i64 blocks = s.co / OUT_BLOCK;
        const i64 co = plane % blocks * OUT_BLOCK + lane;
        WRITE(0, first, sum_of(c, &s, plane / blocks, co, oy, ox));
    }
}
#endif

GENERIC_ENTRY
