/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max_pool2d_grad.cpu. Macros from the plan: the shape (kernels/pool/pool.h), BY_ROW, LINE
 * (elements of a thread's memory).
 *
 * The one idea: taps are visited in row-major order and only a strictly larger one replaces the
 * best, so the first maximum wins; BY_ROW keeps best and tap of a whole row of windows in
 * arrays, and the loops over them become vector code.
 */
#include "kernels/pool/body.kernel.h"

#define ROW ((i64)OW * BLOCK)

/* Output columns whose tap j is inside: [COL_FIRST, COL_LAST). */
#define COL_FIRST(j) ((j)*DW >= PL ? 0 : (PL - (j)*DW + SW - 1) / SW)
#define COL_LAST(j) (W + PL <= (j)*DW ? 0 : MIN((i64)OW, ((i64)W + PL - (j)*DW - 1) / SW + 1))

/* Where tap `tap` of window (oy, ox) is, in elements of a plane. */
INLINE i64 place(i64 oy, i64 ox, i64 tap)
{
    return ((oy * SH - PT + tap / KW * DH) * W + ox * SW - PL + tap % KW * DW) * BLOCK;
}

#if BY_ROW

INLINE void search(const DTYPE *plane, i64 oy, DTYPE *best, exp_int *which)
{
    const span y = rows_of(oy);
    for (i64 ox = 0; ox < OW; ox++) {
        const span x = cols_of(ox);
        const int some = y.first < y.last && x.first < x.last;
        for (int c = 0; c < BLOCK; c++) {
            best[ox * BLOCK + c] = (DTYPE)-__builtin_inff();
            which[ox * BLOCK + c] = some ? (exp_int)(y.first * KW + x.first) : -1;
        }
    }
    for (i64 i = y.first; i < y.last; i++)
        for (i64 j = 0; j < KW; j++) {
            const exp_int tap = (exp_int)(i * KW + j);
            const i64 first = COL_FIRST(j), last = COL_LAST(j);
            const DTYPE *from = plane + place(oy, 0, i * KW + j);
#define BETTER(k, at)                                                                          \
    {                                                                                          \
        const DTYPE v = from[at], b = best[k];                                                 \
        const int better = !(v <= b) & (b == b);                                               \
        best[k] = better ? v : b;                                                              \
        which[k] = better ? tap : which[k];                                                    \
    }
#if BLOCK == 1
            for (i64 ox = first; ox < last; ox++)
                BETTER(ox, ox * SW)
#else
            for (i64 ox = first; ox < last; ox++)
                for (int c = 0; c < BLOCK; c++)
                    BETTER(ox * BLOCK + c, ox * (SW * BLOCK) + c)
#endif
        }
}

INLINE void row(const DTYPE *plane, const DTYPE *grad, DTYPE *out, i64 oy, DTYPE *memory)
{
    DTYPE *const restrict best = memory;
    exp_int *const restrict which = (exp_int *)(memory + LINE / 2);
    search(plane, oy, best, which);
    for (i64 ox = 0; ox < OW; ox++)
        for (int c = 0; c < BLOCK; c++)
            if (which[ox * BLOCK + c] >= 0)
                out[place(oy, ox, which[ox * BLOCK + c]) + c] += grad[ox * BLOCK + c];
}

#else

INLINE void row(const DTYPE *plane, const DTYPE *grad, DTYPE *out, i64 oy, DTYPE *memory)
{
    const span y = rows_of(oy);
    for (i64 ox = 0; ox < OW; ox++) {
        const span x = cols_of(ox);
        for (int c = 0; c < BLOCK && y.first < y.last && x.first < x.last; c++) {
            i64 which = y.first * KW + x.first;
            DTYPE best = (DTYPE)-__builtin_inff();
            for (i64 i = y.first; i < y.last; i++)
                for (i64 j = x.first; j < x.last; j++) {
                    const DTYPE v = plane[place(oy, ox, i * KW + j) + c];
                    const int better = !(v <= best) & (best == best);
                    which = better ? i * KW + j : which;
                    best = better ? v : best;
                }
            out[place(oy, ox, which) + c] += grad[ox * BLOCK + c];
        }
    }
}

#endif

/* arg: grad, data, out, memory of the threads */
void pool_grad(void *const *arg)
{
    const DTYPE *grad = arg[0], *data = arg[1];
    DTYPE *out = arg[2];
    PARALLEL_FOR
    for (i64 p = 0; p < PLANES; p++) {
        const i64 plane = (i64)H * W * BLOCK;
        DTYPE *memory = (DTYPE *)arg[3] + THREAD * (i64)LINE;
        for (i64 i = 0; i < plane; i++)
            out[p * plane + i] = 0;
        for (i64 oy = 0; oy < OH; oy++)
            row(data + p * plane, grad + (p * OH + oy) * ROW, out + p * plane, oy, memory);
    }
}
