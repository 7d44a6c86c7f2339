/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COUNT lines of LENGTH values, TILE of them reduced at a time over LINES lines a step. With
 * PARTS each part takes some of the lines.
 */
#include "kernels/reduce/reduce_body.h"

#define LINE(j) const IN_T *const line##j = in + line_offset(r + j)

INLINE i64 line_offset(i64 r)
{
    return LINE_OFFSET;
}

/* n values (TILE, or fewer at the end of a row), lines from..to. */
INLINE void tile(const IN_T *in, made *out, const i64 n, i64 from, i64 to)
{
    SCALAR sum[TILE];
    for (i64 l = 0; l < n; l++)
        sum[l] = (SCALAR)(IDENTITY);
    i64 r = from;
    for (; r + LINES <= to; r += LINES) {
#if AHEAD
        for (int j = 0; j < LINES; j++)
            for (i64 b = 0; b < n * (i64)sizeof(IN_T); b += 64)
                __builtin_prefetch((const char *)(in + line_offset(r + j + AHEAD * LINES)) + b);
#endif
        LINE(0);
#if LINES > 1
        LINE(1);
#endif
#if LINES > 2
        LINE(2);
        LINE(3);
#endif
#if LINES > 4
        LINE(4);
        LINE(5);
        LINE(6);
        LINE(7);
#endif
        for (i64 l = 0; l < n; l++) {
            SCALAR s = map((SCALAR)line0[l]);
#if LINES > 1
            s = combine(s, map((SCALAR)line1[l]));
#endif
#if LINES > 2
            s = combine(s, combine(map((SCALAR)line2[l]), map((SCALAR)line3[l])));
#endif
#if LINES > 4
            s = combine(s, combine(combine(map((SCALAR)line4[l]), map((SCALAR)line5[l])),
                                   combine(map((SCALAR)line6[l]), map((SCALAR)line7[l]))));
#endif
            sum[l] = combine(sum[l], s);
        }
    }
    for (; r < to; r++) {
        const IN_T *const line = in + line_offset(r);
        for (i64 l = 0; l < n; l++)
            sum[l] = combine(sum[l], map((SCALAR)line[l]));
    }
    for (i64 l = 0; l < n; l++)
        out[l] = MADE(sum[l]);
}

void reduce(void *const *arg)
{
    const i64 tiles = CEIL_DIV(LENGTH, TILE), outer = OUTPUTS / LENGTH;
    PARALLEL_FOR
    for (i64 t = 0; t < PARTS * outer * tiles; t++) {
        const i64 part = t / (outer * tiles), k = t / tiles % outer, at = t % tiles * TILE;
        const IN_T *in = (const IN_T *)arg[0] + KEPT_OFFSET + at;
        made *out = (made *)arg[1] + part * OUTPUTS + k * LENGTH + at;
        const i64 from = (i64)COUNT * part / PARTS, to = (i64)COUNT * (part + 1) / PARTS;
        if (LENGTH % TILE == 0 || at + TILE <= LENGTH)
            tile(in, out, TILE, from, to);
        else
            tile(in, out, LENGTH % TILE, from, to);
    }
}
