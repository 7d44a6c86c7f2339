/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the schedules of pooling share. A schedule walks the windows and defines `pool`, over a
 * compute: kernels/pool/compute.kernel.h, or that of another pooling in front of it, whose body
 * is
 *
 *     #include "kernels/min_pool2d/compute.kernel.h"        POOL_START, fold, fold1
 *     #include "kernels/pool/impls_rows.kernel.c"
 *
 * POOL_MEAN, from the plan, says whether a mean is wanted. fold(acc, x) takes one more element
 * into the result of a window; an accumulator starts as POOL_START, or as the first element.
 * Macros from the plan: see pool_module in kernels/pool/pool.h.
 */
#ifndef OPTUNE_KERNELS_POOL_BODY_H
#define OPTUNE_KERNELS_POOL_BODY_H

#include "kernels/common/exp.kernel.h"
#include "kernels/common/stored.kernel.h"

#define FAR_ROW ((KH - 1) * DH)
#define FAR_COL ((KW - 1) * DW)

/* Rows [Y0, Y1) of the output have all their taps inside. */
#define Y_LAST ((i64)H - 1 - FAR_ROW + PT)
#define Y_END (Y_LAST < 0 ? 0 : MIN((i64)OH, Y_LAST / SH + 1))
#define Y0 MIN((i64)CEIL_DIV(PT, SH), Y_END)
#define Y1 Y_END

typedef struct span {
    i64 first, last;
} span;

/* Taps of window `o` that lie inside the data; first <= last. */
INLINE span span_of(i64 o, i64 stride, i64 before, i64 dilation, i64 kernel, i64 in)
{
    const i64 start = o * stride - before;
    const i64 first = start < 0 ? (-start + dilation - 1) / dilation : 0;
    i64 last = in > start ? (in - start + dilation - 1) / dilation : 0;
    last = MIN(last, kernel);
    return (span){MIN(first, last), last};
}

/* Macros, as rows of the data may be an argument of where they are used. */
#define rows_of(oy) span_of(oy, SH, PT, DH, KH, H)

INLINE span cols_of(i64 ox)
{
    return span_of(ox, SW, PL, DW, KW, W);
}

/* Positions that window `o` counts along one axis. */
INLINE i64 counted(span s, i64 o, i64 stride, i64 before, i64 after, i64 dilation, i64 kernel,
                   i64 in)
{
    if (!COUNT_PAD)
        return s.last - s.first;
    const i64 room = in + after - (o * stride - before);
    return room > 0 ? MIN(kernel, (room + dilation - 1) / dilation) : 0;
}

#define counted_rows(oy) (UNIFORM ? KH : counted(rows_of(oy), oy, SH, PT, PB, DH, KH, H))

INLINE i64 counted_cols(i64 ox)
{
    return UNIFORM ? KW : counted(cols_of(ox), ox, SW, PL, PR, DW, KW, W);
}

/* What a sum over `rows` x `cols` counted positions is multiplied by. */
INLINE DTYPE share_of(i64 rows, i64 cols)
{
    return rows * cols > 0 ? (DTYPE)1 / (DTYPE)(rows * cols) : 0;
}

/* Every second element of a and of b, whose first is a's last. */
INLINE vec second_of(vec a, vec b)
{
    exp_vec lane = {0};
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        lane[i] = i < VLEN / 2 ? 2 * i : 2 * i + 1;
    return __builtin_shuffle(a, b, lane);
}

/* p[0], p[SW], p[2 * SW] ...; touches nothing beyond the last of them. */
INLINE vec strided(const DTYPE *p)
{
    if (SW == 1)
        return load(p);
    if (SW == 2)
        return second_of(load(p), load(p + VLEN - 1));
    vec v = {0};
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        v[i] = p[i * SW];
    return v;
}

/* The same of a tensor. */
INLINE vec stored_strided(const stored *p)
{
    if (SW == 1)
        return stored_load(p);
    if (SW == 2)
        return second_of(stored_load(p), stored_load(p + VLEN - 1));
    vec v = {0};
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        v[i] = stored_value(p[i * SW]);
    return v;
}

/* Every second element of a and b side by side, from the `odd`-th on. */
INLINE vec every_second(vec a, vec b, const int odd)
{
    exp_vec lane = {0};
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        lane[i] = 2 * i + odd;
    return __builtin_shuffle(a, b, lane);
}

#endif
