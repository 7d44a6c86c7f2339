/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What generic pooling bodies share: where windows lie. Macros from the plan: BLOCK, KH KW, SH
 * SW, DH DW, PT PL PB PR, CEIL_MODE, COUNT_PAD.
 */
#ifndef OPTUNE_KERNELS_POOL_GENERIC_BODY_H
#define OPTUNE_KERNELS_POOL_GENERIC_BODY_H

#include "kernels/common/generic_body.kernel.h"

#if ACC_REAL
#define LEAST (-(ACC)GENERIC_INFINITY)
#else
#define LEAST ((ACC)SCALAR_LOWEST)
#endif

/* One spatial axis, of the data and of the windows. */
typedef struct pool_side {
    i64 in, out, taps, stride, dilation, before, after;
} pool_side;

/* How many windows there are. */
INLINE i64 windows(i64 in, i64 size, i64 stride, i64 dilation, i64 pads)
{
    const i64 room = in + pads - dilation * (size - 1) - 1;
    return (CEIL_MODE ? CEIL_DIV(room, stride) : room / stride) + 1;
}

INLINE pool_side side_y(i64 in)
{
    const pool_side s = {in, windows(in, KH, SH, DH, PT + PB), KH, SH, DH, PT, PB};
    return s;
}

INLINE pool_side side_x(i64 in)
{
    const pool_side s = {in, windows(in, KW, SW, DW, PL + PR), KW, SW, DW, PL, PR};
    return s;
}

/* Taps [first, last) of window o that lie inside. */
INLINE i64 first_tap(const pool_side *s, i64 o)
{
    const i64 start = o * s->stride - s->before;
    return start < 0 ? CEIL_DIV(-start, s->dilation) : 0;
}

INLINE i64 last_tap(const pool_side *s, i64 o)
{
    const i64 room = s->in - (o * s->stride - s->before);
    const i64 taps = room > 0 ? CEIL_DIV(room, s->dilation) : 0;
    return MIN(taps, s->taps);
}

/* Positions of window o that a mean counts. */
INLINE i64 counted(const pool_side *s, i64 o)
{
    const i64 room = s->in + s->after - (o * s->stride - s->before);
    const i64 all = room > 0 ? CEIL_DIV(room, s->dilation) : 0;
    const i64 inside = last_tap(s, o) - first_tap(s, o);
    return COUNT_PAD ? MIN(all, s->taps) : MAX(inside, (i64)0);
}

INLINE i64 position(const pool_side *s, i64 o, i64 tap)
{
    return o * s->stride - s->before + tap * s->dilation;
}

/* The window whose tap is at this position; -1: none. */
INLINE i64 holder(const pool_side *s, i64 at, i64 tap)
{
    const i64 start = at + s->before - tap * s->dilation;
    return start < 0 || start % s->stride || start / s->stride >= s->out ? -1
                                                                         : start / s->stride;
}

#endif
