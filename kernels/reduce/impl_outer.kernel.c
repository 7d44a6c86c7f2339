/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COUNT lines of LENGTH values, TILE of them reduced at a time over LINES lines a step. With
 * PARTS each part takes some of the lines.
 */
#define STORED_TENSORS
#include "kernels/reduce/reduce_body.kernel.h"

#define LINE(j) const in_memory *const line##j = in + line_offset(r + j)

INLINE i64 line_offset(i64 r)
{
    return LINE_OFFSET;
}

#if STORED_HALF
#define LINE_VALUE(j) map(line_vector[j][l - v])
#define LINE_VECTORS(n)                                                                        \
    SCALAR line_vector[LINES][WIDTH] __attribute__((aligned(VEC_BYTES)));                      \
    for (int j = 0; j < (n); j++)                                                              \
        stored_read(line_vector[j], (const stored *)in + line_offset(r + j) + v, width);
#else
#define LINE_VALUE(j) map((SCALAR)line##j[l])
#define LINE_VECTORS(n)
#endif
#if LINES == 1
#define STEP LINE_VALUE(0)
#elif LINES == 2
#define STEP combine(LINE_VALUE(0), LINE_VALUE(1))
#else
#define FOUR(a, b, c, d)                                                                       \
    combine(combine(LINE_VALUE(a), LINE_VALUE(b)), combine(LINE_VALUE(c), LINE_VALUE(d)))
#if LINES == 4
#define STEP FOUR(0, 1, 2, 3)
#else
#define STEP combine(FOUR(0, 1, 2, 3), FOUR(4, 5, 6, 7))
#endif
#endif

#define WIDTH MIN(TILE, LANES)

/* sum = combine(sum, what) for n values of `lines`, in whole vectors as far as they go. */
#define ALL(n, what, lines)                                                                    \
    do {                                                                                       \
        i64 v = 0;                                                                             \
        EACH_VECTOR                                                                            \
        for (; v + WIDTH <= (n); v += WIDTH) {                                                 \
            const int width = WIDTH;                                                           \
            LINE_VECTORS(lines)                                                                \
            EACH_LANE                                                                          \
            for (i64 l = v; l < v + width; l++)                                                \
                sum[l] = combine(sum[l], what);                                                \
        }                                                                                      \
        const i64 width = (n)-v;                                                               \
        LINE_VECTORS(lines)                                                                    \
        for (i64 l = v; l < v + width; l++)                                                    \
            sum[l] = combine(sum[l], what);                                                    \
    } while (0)

/* n values (TILE, or fewer at the end of a row), lines from..to. */
INLINE void tile(const in_memory *in, made *out, const i64 n, i64 from, i64 to)
{
    SCALAR sum[TILE];
    for (i64 l = 0; l < n; l++)
        sum[l] = (SCALAR)(IDENTITY);
    i64 r = from;
    for (; r + LINES <= to; r += LINES) {
#if AHEAD
        for (int j = 0; j < LINES; j++)
            for (i64 b = 0; b < n * (i64)sizeof(in_memory); b += 64)
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
        ALL(n, STEP, LINES);
    }
    for (; r < to; r++) {
        LINE(0);
        ALL(n, LINE_VALUE(0), 1);
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
        const in_memory *in = (const in_memory *)arg[0] + KEPT_OFFSET + at;
        made *out = (made *)arg[1] + part * OUTPUTS + k * LENGTH + at;
        const i64 from = (i64)COUNT * part / PARTS, to = (i64)COUNT * (part + 1) / PARTS;
        if (LENGTH % TILE == 0 || at + TILE <= LENGTH)
            tile(in, out, TILE, from, to);
        else
            tile(in, out, LENGTH % TILE, from, to);
    }
}
