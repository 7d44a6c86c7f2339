/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avg_pool2d_grad.cpu. Macros from the plan: the shape (kernels/pool/pool.h), BY_ROWS, LINE
 * (elements of a thread's memory).
 */
#include "kernels/pool/shares.kernel.h"

#define ROW ((i64)OW * BLOCK)
#define WIDE ((i64)W * BLOCK)

/* to[columns of the windows] += from[windows], `to` a row of the data. */
INLINE void spread(const DTYPE *restrict from, DTYPE *restrict to)
{
    for (i64 j = 0; j < KW; j++) {
        const i64 shift = j * DW - PL;
        const i64 first = shift >= 0 ? 0 : (-shift + SW - 1) / SW;
        const i64 last = W <= shift ? 0 : MIN((i64)OW, (W - shift - 1) / SW + 1);
        for (i64 ox = first; ox < last; ox++)
            for (int c = 0; c < BLOCK; c++)
                to[(ox * SW + shift) * BLOCK + c] += from[ox * BLOCK + c];
    }
}

/* arg: grad, data, out, memory of the threads, shares */
void pool_grad(void *const *arg)
{
    const DTYPE *grad = arg[0], *shares = arg[4];
    DTYPE *out = arg[2];
    PARALLEL_FOR
    for (i64 p = 0; p < PLANES; p++) {
        DTYPE *restrict to = out + p * H * WIDE;
        DTYPE *restrict scaled = (DTYPE *)arg[3] + THREAD * (i64)LINE;
        DTYPE *restrict line = scaled + ROW;
        for (i64 i = 0; i < H * WIDE; i++)
            to[i] = 0;
        for (i64 oy = 0; oy < OH; oy++) {
            const span y = rows_of(oy);
            const DTYPE *from = grad + (p * OH + oy) * ROW;
            const DTYPE scale = share_of(counted_rows(oy), 1);
            for (i64 ox = 0; ox < OW; ox++)
                for (int c = 0; c < BLOCK; c++)
                    scaled[ox * BLOCK + c] = from[ox * BLOCK + c] * (shares[ox] * scale);
            DTYPE *top = to + (oy * SH - PT) * WIDE;
            if (BY_ROWS) {
                for (i64 i = 0; i < WIDE; i++)
                    line[i] = 0;
                spread(scaled, line);
            }
            for (i64 i = y.first; i < y.last; i++) {
                if (!BY_ROWS)
                    spread(scaled, top + i * (DH * WIDE));
                for (i64 k = 0; BY_ROWS && k < WIDE; k++)
                    top[i * (DH * WIDE) + k] += line[k];
            }
        }
    }
}
