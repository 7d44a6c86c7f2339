/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LINES rows of LENGTH values for each of OUTPUTS results: SUMS partial results of each of ROWS
 * outputs at a time. With PARTS each part takes some of the lines, or a piece of the only one.
 */
#include "kernels/reduce/reduce_body.h"

INLINE SCALAR lanes(const SCALAR *sum)
{
    SCALAR s[SUMS];
    for (int l = 0; l < SUMS; l++)
        s[l] = sum[l];
    UNROLL(8)
    for (int width = SUMS / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++)
            s[l] = combine(s[l], s[l + width]);
    return s[0];
}

/* n outputs (a constant) from number `first` on; values from..to of every line first_line.. */
INLINE void outputs(const IN_T *in, made *out, i64 first, const int n, i64 line, i64 last_line,
                    i64 from, i64 to)
{
    SCALAR sum[ROWS][SUMS];
    const IN_T *row[ROWS];
    for (int j = 0; j < n; j++)
        for (int l = 0; l < SUMS; l++)
            sum[j][l] = (SCALAR)(IDENTITY);
    for (i64 r = line; r < last_line; r++) {
        for (int j = 0; j < n; j++) {
            const i64 k = first + j;
            row[j] = in + KEPT_OFFSET + ROW_OFFSET;
        }
        i64 i = from;
        for (; i + SUMS <= to; i += SUMS) {
            UNROLL(8)
            for (int j = 0; j < n; j++) {
#if AHEAD
                for (int b = 0; b < SUMS * (int)sizeof(IN_T); b += 64)
                    __builtin_prefetch((const char *)(row[j] + i) + AHEAD + b);
#endif
                for (int l = 0; l < SUMS; l++)
                    sum[j][l] = combine(sum[j][l], map((SCALAR)row[j][i + l]));
            }
        }
        for (int j = 0; j < n; j++)
            for (i64 t = i; t < to; t++)
                sum[j][t - i] = combine(sum[j][t - i], map((SCALAR)row[j][t]));
    }
    for (int j = 0; j < n; j++)
        out[first + j] = MADE(lanes(sum[j]));
}

INLINE void part(const IN_T *in, made *out, i64 group, i64 number)
{
    i64 line = 0, last_line = LINES, from = 0, to = LENGTH;
#if PARTS > 1
    if (LINES > 1) {
        line = LINES * number / PARTS;
        last_line = LINES * (number + 1) / PARTS;
    } else {
        from = LENGTH * number / PARTS;
        to = LENGTH * (number + 1) / PARTS;
    }
#endif
    const i64 first = group * ROWS;
    if (OUTPUTS % ROWS == 0 || first + ROWS <= OUTPUTS)
        outputs(in, out, first, ROWS, line, last_line, from, to);
    else
        for (i64 k = first; k < OUTPUTS; k++)
            outputs(in, out, k, 1, line, last_line, from, to);
}

void reduce(void *const *arg)
{
    const i64 groups = CEIL_DIV(OUTPUTS, ROWS);
    PARALLEL_FOR
    for (i64 t = 0; t < groups * PARTS; t++)
        part(arg[0], (made *)arg[1] + t / groups * OUTPUTS, t % groups, t / groups);
}
