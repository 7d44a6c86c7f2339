/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_rows.cpu. Macros from the plan: OUTER rows of AXIS elements, PASSES, ROWS at once,
 * STEP vectors of each at once. AXIS_ARG: see softmax_module; in functions such an AXIS is their
 * argument `axis`.
 *
 * The one idea: a ragged end is the last whole vector of the row, which overlaps its
 * neighbour: its lanes are true values, only sums must leave out the REST lanes counted before.
 */
#define STORED_TENSORS
#include "kernels/common/exp.kernel.h"
#include "kernels/common/stored.kernel.h"

#if AXIS_ARG
#undef AXIS
#define AXIS axis
#define AXIS_OF(arg) (*(const i64 *)(arg)[AXIS_ARG])
#else
#define AXIS_OF(arg) AXIS
#endif
#define WHOLE (AXIS / VLEN)
#define TAIL (AXIS % VLEN)
#define OVERLAP (TAIL ? VLEN - TAIL : 0)
#define VECS (WHOLE + (TAIL > 0))
#define PLACE(v) ((v) < WHOLE ? (i64)(v)*VLEN : (i64)AXIS - VLEN)
#define STEPS (WHOLE / STEP * STEP)
#define SMALLEST ((DTYPE)(sizeof(DTYPE) == 8 ? -__DBL_MAX__ : -__FLT_MAX__))
#define NOTHING ((DTYPE)-__builtin_inff())
#define AGAIN (PASSES == 2 || STORED_HALF) /* exponentials are computed twice */

#if PASSES == 1

INLINE void lines(const stored *from, stored *to, const int rows, const i64 axis)
{
    vec x[ROWS][VECS];
    DTYPE scale[ROWS];
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        vec most = splat(NOTHING), sum = {0};
        UNROLL(64)
        for (int v = 0; v < VECS; v++) {
            x[r][v] = stored_load(from + r * AXIS + PLACE(v));
            most = vec_max(x[r][v], most);
        }
        const vec m = splat(vec_largest(most));
        UNROLL(64)
        for (int v = 0; v < VECS; v++) {
            x[r][v] = vec_exp(x[r][v] - m);
            sum += v < WHOLE ? x[r][v] : vec_from(x[r][v], 0, OVERLAP);
        }
        scale[r] = 1 / vec_sum(sum);
    }
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(64)
        for (int v = 0; v < VECS; v++)
            stored_store(to + r * AXIS + PLACE(v), x[r][v] * scale[r]);
    }
}

#else

/* Vectors [v, v + n) of the rows raise their maxima. */
INLINE void raise(vec most[ROWS][STEP], const stored *from, i64 v, const int rows, const int n,
                  const i64 axis)
{
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(8)
        for (int u = 0; u < n; u++)
            most[r][u] = vec_max(stored_load(from + r * AXIS + PLACE(v + u)), most[r][u]);
    }
}

/* Maximum and sum of every lane together: the sums shrink whenever a maximum rises. */
INLINE void both(vec most[ROWS], vec sum[ROWS], const stored *from, i64 v, const int rows,
                 const int n, const int overlap, const i64 axis)
{
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        vec x[STEP], higher = most[r];
        UNROLL(8)
        for (int u = 0; u < n; u++) {
            x[u] = stored_load(from + r * AXIS + PLACE(v + u));
            if (overlap)
                x[u] = vec_from(x[u], NOTHING, overlap);
            higher = vec_max(x[u], higher);
        }
        vec more = {0};
        UNROLL(8)
        for (int u = 0; u < n; u++)
            more += vec_exp(x[u] - higher);
        sum[r] = sum[r] * vec_exp(most[r] - higher) + more;
        most[r] = higher;
    }
}

INLINE void exponentials(const stored *from, stored *to, const DTYPE *most, vec sum[ROWS][STEP],
                         i64 v, const int rows, const int n, const i64 axis)
{
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(8)
        for (int u = 0; u < n; u++) {
            const vec e = vec_exp(stored_load(from + r * AXIS + PLACE(v + u)) - splat(most[r]));
            if (!AGAIN)
                stored_store(to + r * AXIS + PLACE(v + u), e);
            sum[r][u] += e;
        }
    }
}

/* The last pass: exponentials are in `to`, where these would not have been rounded. */
INLINE void finish(const stored *from, stored *to, const DTYPE *most, const DTYPE *scale, i64 v,
                   const int rows, const int n, const i64 axis)
{
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(8)
        for (int u = 0; u < n; u++) {
            stored *p = to + r * AXIS + PLACE(v + u);
            const vec e =
                AGAIN ? vec_exp(stored_load(from + r * AXIS + PLACE(v + u)) - splat(most[r]))
                      : stored_load(p);
            stored_store(p, e * splat(scale[r]));
        }
    }
}

#define EACH(what)                                                                             \
    do {                                                                                       \
        i64 v = 0;                                                                             \
        for (const int n = STEP; v < STEPS; v += STEP)                                         \
            what;                                                                              \
        for (const int n = 1; v < WHOLE; v++)                                                  \
            what;                                                                              \
    } while (0)

INLINE void lines(const stored *from, stored *to, const int rows, const i64 axis)
{
    DTYPE largest[ROWS], scale[ROWS];
    vec last[ROWS];
#if PASSES == 3
    vec most[ROWS][STEP], sum[ROWS][STEP];
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(8)
        for (int u = 0; u < STEP; u++) {
            most[r][u] = splat(NOTHING);
            sum[r][u] = (vec){0};
        }
    }
    EACH(raise(most, from, v, rows, n, axis));
    if (TAIL)
        raise(most, from, WHOLE, rows, 1, axis);
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(8)
        for (int u = 1; u < STEP; u++)
            most[r][0] = vec_max(most[r][u], most[r][0]);
        largest[r] = vec_largest(most[r][0]);
        if (TAIL)
            last[r] = vec_exp(stored_load(from + r * AXIS + PLACE(WHOLE)) - splat(largest[r]));
    }
    EACH(exponentials(from, to, largest, sum, v, rows, n, axis));
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        UNROLL(8)
        for (int u = 1; u < STEP; u++)
            sum[r][0] += sum[r][u];
        if (TAIL)
            sum[r][0] += vec_from(last[r], 0, OVERLAP);
        scale[r] = 1 / vec_sum(sum[r][0]);
    }
#else
    vec most[ROWS], sum[ROWS];
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        most[r] = splat(SMALLEST);
        sum[r] = (vec){0};
    }
    EACH(both(most, sum, from, v, rows, n, 0, axis));
    if (TAIL)
        both(most, sum, from, WHOLE, rows, 1, OVERLAP, axis);
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
        largest[r] = vec_largest(most[r]);
        scale[r] = 1 / vec_sum(sum[r] * vec_exp(most[r] - splat(largest[r])));
        if (TAIL)
            last[r] = vec_exp(stored_load(from + r * AXIS + PLACE(WHOLE)) - splat(largest[r]));
    }
#endif
    EACH(finish(from, to, largest, scale, v, rows, n, axis));
    if (TAIL) {
        UNROLL(8)
        for (int r = 0; r < rows; r++)
            stored_store(to + r * AXIS + PLACE(WHOLE), last[r] * splat(scale[r]));
    }
}

#endif

#if AXIS_ARG
/* A row that is shorter than a vector. */
INLINE void short_line(const stored *from, stored *to, const i64 axis)
{
    DTYPE some[VLEN] __attribute__((aligned(VEC_BYTES)));
    store(some, splat(NOTHING));
    stored_read(some, from, axis);
    const vec x = load(some);
    store(some, vec_exp(x - splat(vec_largest(x))));
    DTYPE sum = 0;
    for (i64 i = 0; i < axis; i++)
        sum += some[i];
    store(some, load(some) * splat(1 / sum));
    stored_write(to, some, axis);
}
#endif

/* arg: data, out, what is known at run time */
void softmax(void *const *arg)
{
    const stored *data = arg[0];
    stored *out = arg[1];
    const i64 axis = AXIS_OF(arg);
#if AXIS_ARG
    if (axis < VLEN) {
        PARALLEL_FOR
        for (i64 row = 0; row < OUTER; row++)
            short_line(data + row * axis, out + row * axis, axis);
        return;
    }
#endif
    PARALLEL_FOR
    for (i64 row = 0; row < OUTER / ROWS; row++)
        lines(data + row * (ROWS * axis), out + row * (ROWS * axis), ROWS, axis);
    if (OUTER % ROWS)
        lines(data + OUTER / ROWS * (ROWS * axis), out + OUTER / ROWS * (ROWS * axis),
              OUTER % ROWS, axis);
}
