/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LINES rows of LENGTH values for each of OUTPUTS results: SUMS partial results of each of ROWS
 * outputs at a time. With PARTS each part takes some of the lines, or a piece of the only one.
 */
#define STORED_TENSORS
#include "kernels/reduce/reduce_body.kernel.h"

#define WIDTH MIN(SUMS, LANES)

/* SUMS partial results and the `rest` < SUMS values that are left: halved until one remains,
 * values joining where there are as many of them as results. */
INLINE SCALAR joined(const SCALAR *sum, const in_memory *x, const i64 rest)
{
    SCALAR s[SUMS];
    for (int l = 0; l < SUMS; l++)
        s[l] = sum[l];
    UNROLL(8)
    for (int half = SUMS / 2; half > 0; half /= 2) {
        const int width = MIN(half, WIDTH);
        EACH_VECTOR
        for (int v = 0; v < half; v += width)
            EACH_LANE
        for (int l = v; l < v + width; l++)
            s[l] = combine(s[l], s[l + half]);
        if (rest & half) {
            EACH_VECTOR
            for (int v = 0; v < half; v += width)
                EACH_LANE
            for (int l = v; l < v + width; l++)
                s[l] = combine(s[l], map(TAKEN(x[l])));
            x += half;
        }
    }
    return s[0];
}

/* n outputs (a constant) from number `first` on; values from..to of lines line..last_line. */
INLINE void outputs(const in_memory *in, made *out, i64 first, const int n, i64 line,
                    i64 last_line, i64 from, i64 to)
{
    SCALAR sum[ROWS][SUMS];
    const in_memory *row[ROWS];
    const i64 rest = (to - from) % SUMS;
    for (int j = 0; j < n; j++)
        for (int l = 0; l < SUMS; l++)
            sum[j][l] = (SCALAR)(IDENTITY);
    for (i64 r = line; r < last_line; r++) {
        for (int j = 0; j < n; j++) {
            const i64 k = first + j;
            row[j] = in + KEPT_OFFSET + ROW_OFFSET;
        }
        for (i64 i = from; i < to - rest; i += SUMS) {
            UNROLL(8)
            for (int j = 0; j < n; j++) {
#if AHEAD
                for (int b = 0; b < SUMS * (int)sizeof(in_memory); b += 64)
                    __builtin_prefetch((const char *)(row[j] + i) + AHEAD + b);
#endif
#if STORED_HALF
                SCALAR x[SUMS] __attribute__((aligned(VEC_BYTES)));
                stored_read(x, (const stored *)row[j] + i, SUMS);
#define ELEMENT(l) x[l]
#else
#define ELEMENT(l) ((SCALAR)row[j][i + l])
#endif
                EACH_VECTOR
                for (int v = 0; v < SUMS; v += WIDTH)
                    EACH_LANE
                for (int l = v; l < v + WIDTH; l++)
                    sum[j][l] = combine(sum[j][l], map(ELEMENT(l)));
            }
        }
        for (int j = 0; j < n && LINES > 1; j++)
            for (i64 l = 0; l < rest; l++)
                sum[j][l] = combine(sum[j][l], map(TAKEN(row[j][to - rest + l])));
    }
    UNROLL(8)
    for (int j = 0; j < n; j++)
        out[first + j] = MADE(joined(sum[j], row[j] + to - rest, LINES > 1 ? 0 : rest));
}

/* `all` outputs there are. */
INLINE void part(const in_memory *in, made *out, i64 group, i64 number, const i64 all)
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
    if (all % ROWS == 0 || first + ROWS <= all)
        outputs(in, out, first, ROWS, line, last_line, from, to);
    else
        for (i64 k = first; k < all; k++)
            outputs(in, out, k, 1, line, last_line, from, to);
}

void reduce(void *const *arg)
{
    const i64 groups = CEIL_DIV(OUTPUTS, ROWS);
    PARALLEL_FOR
    for (i64 t = 0; t < groups * PARTS; t++)
        part(arg[0], (made *)arg[1] + t / groups * OUTPUTS, t % groups, t / groups, OUTPUTS);
}
