/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EXPRESSION over OPERANDS operands. Blocks of BLOCK elements with a constant trip count become
 * straight vector code; with STREAM they are collected in a buffer that is in the first-level
 * cache and leave for memory in whole lines.
 *
 * Of 16-bit floats the vectors of a block become floats in a buffer first, from which the same
 * loop over lanes takes them, and another one becomes 16 bits: that is one instruction for each
 * vector, which a conversion within the loop would not be. What is left of a row is one vector,
 * some lanes of which are nobody's.
 */
#define STORED_TENSORS
#define STORED_SOME
#include "kernels/common/scalar_cpu.kernel.h"

#include "kernels/common/stored.kernel.h"
#include "kernels/common/stream.kernel.h"

#if STORED_HALF
#ifdef STORED_MASK
#define HALVES(k, t) (STORED_MASK >> (k)&1)
#else
#define HALVES(k, t) __builtin_types_compatible_p(t, float)
#endif
#define MEMORY(k, t) __typeof__(__builtin_choose_expr(HALVES(k, t), (stored)0, (t)0))
#define GIVEN(k, x) __builtin_choose_expr(HALVES(k, X##k##_T), stored_value((stored)(x)), (x))
#else
#define MEMORY(k, t) t
#endif
#define OUT_MEMORY MEMORY(OPERANDS, OUT_T)
#define OPERAND(k) const MEMORY(k, X##k##_T) *const restrict x##k##_at
#define VALUE(k, i) const X##k##_V x##k = (X##k##_V)x##k##_at[(i)*X##k##_INNER]
#define POINTER(k)                                                                             \
    const MEMORY(k, X##k##_T) *const x##k##_at =                                               \
        (const MEMORY(k, X##k##_T) *)arg[k + 1] + x##k##_offset
#if AHEAD
#define FETCH(k, i)                                                                            \
    for (int ot_b = 0; ot_b < BLOCK * (int)sizeof(*x##k##_at) * X##k##_INNER; ot_b += LINE)    \
    __builtin_prefetch((const char *)(x##k##_at + (i)*X##k##_INNER) + AHEAD + ot_b)
#else
#define FETCH(k, i)
#endif
#if OPERANDS == 1
#define EACH(what, sep) what(0)
#define EACH_AT(what, i) what(0, i)
#elif OPERANDS == 2
#define EACH(what, sep) what(0) sep what(1)
#define EACH_AT(what, i)                                                                       \
    what(0, i);                                                                                \
    what(1, i)
#elif OPERANDS == 3
#define EACH(what, sep) what(0) sep what(1) sep what(2)
#define EACH_AT(what, i)                                                                       \
    what(0, i);                                                                                \
    what(1, i);                                                                                \
    what(2, i)
#else
#define EACH(what, sep) what(0) sep what(1) sep what(2) sep what(3)
#define EACH_AT(what, i)                                                                       \
    what(0, i);                                                                                \
    what(1, i);                                                                                \
    what(2, i);                                                                                \
    what(3, i)
#endif
#define COMMA ,
/* The loop over lanes stays one until it is an instruction; the one over vectors is unrolled. */
#define BLOCK_LOOP                                                                             \
    UNROLL(16)                                                                                 \
    for (int v = 0; v < BLOCK; v += WIDTH)                                                     \
        UNROLL(1)                                                                              \
    for (int l = v; l < v + WIDTH; l++)
#define PASS(k) x##k##_at

/* One element, number o + i of the output, with what is fused behind it. */
#define ELEMENT(i) epilogue_one(RESULT(EXPRESSION), arg, o + (i))

#if STORED_HALF

/* `n` numbers of an operand from `i` on, as values of a block of `lanes`. */
#define BUFFER(k)                                                                              \
    X##k##_V x##k##_is[BLOCK] __attribute__((aligned(VEC_BYTES)));                             \
    if (X##k##_INNER == 0) {                                                                   \
        const X##k##_V ot_one = (X##k##_V)GIVEN(k, *x##k##_at);                                \
        for (int l = 0; l < lanes; l++)                                                        \
            x##k##_is[l] = ot_one;                                                             \
    } else if (HALVES(k, X##k##_T) && X##k##_INNER == 1 && n >= lanes) {                       \
        UNROLL(16)                                                                             \
        for (int v = 0; v < lanes; v += VLEN)                                                  \
            store((DTYPE *)x##k##_is + v, stored_load((const stored *)x##k##_at + i + v));     \
    } else if (n >= lanes) {                                                                   \
        for (int l = 0; l < lanes; l++)                                                        \
            x##k##_is[l] = (X##k##_V)GIVEN(k, x##k##_at[(i + l) * X##k##_INNER]);              \
    } else {                                                                                   \
        for (int l = 0; l < lanes; l++)                                                        \
            x##k##_is[l] =                                                                     \
                l < n ? (X##k##_V)GIVEN(k, x##k##_at[(i + l) * X##k##_INNER]) : (X##k##_V)0;   \
    }
#define BUFFERED(k, i) const X##k##_V x##k = x##k##_is[i]

/* Elements i to i + n of a row, in a block of `lanes`, a constant. */
INLINE void block(OUT_MEMORY *restrict out, EACH(OPERAND, COMMA), i64 i, i64 n, const int lanes,
                  void *const *arg, i64 o)
{
    OUT_T made[BLOCK] __attribute__((aligned(VEC_BYTES)));
    EACH(BUFFER, )
    UNROLL(16)
    for (int v = 0; v < lanes; v += WIDTH)
        UNROLL(1)
    for (int l = v; l < v + WIDTH; l++) {
        EACH_AT(BUFFERED, l);
        made[l] = RESULT(EXPRESSION);
    }
    if (!HALVES(OPERANDS, OUT_T)) {
        if (n >= lanes)
            for (int l = 0; l < lanes; l++)
                out[i + l] = (OUT_MEMORY)made[l];
        else
            for (int l = 0; l < n; l++)
                out[i + l] = (OUT_MEMORY)made[l];
        return;
    }
    UNROLL(16)
    for (int v = 0; v < lanes; v += VLEN) {
        stored *const to = (stored *)out + i + v;
        const vec x = load((const DTYPE *)made + v);
        if (v + VLEN <= n)
            stored_store(to, stored_fused(x, arg, o + i + v, VLEN));
        else if (v < n)
            stored_some(to, stored_fused(x, arg, o + i + v, (int)(n - v)), (int)(n - v));
    }
}

INLINE void row(OUT_MEMORY *restrict out, EACH(OPERAND, COMMA), i64 n, void *const *arg, i64 o)
{
    i64 i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        EACH_AT(FETCH, i);
        block(out, EACH(PASS, COMMA), i, BLOCK, BLOCK, arg, o);
    }
    UNROLL(1)
    for (; i < n; i += WIDTH)
        block(out, EACH(PASS, COMMA), i, MIN(WIDTH, n - i), WIDTH, arg, o);
}

#else

/* n elements of one row, the first of which is number o of the output. */
INLINE void row(OUT_T *restrict out, EACH(OPERAND, COMMA), i64 n, void *const *arg, i64 o)
{
    i64 i = 0;
#if STREAM
    const i64 head = (LINE - (i64)((uptr)out % LINE)) % LINE / (i64)sizeof(OUT_T);
    for (; i < head && i < n; i++) {
        EACH_AT(VALUE, i);
        out[i] = ELEMENT(i);
    }
#endif
    for (; i + BLOCK <= n; i += BLOCK) {
#if STREAM || EPILOGUE
        OUT_T buffer[BLOCK] __attribute__((aligned(LINE)));
#else
        OUT_T *const buffer = out + i;
#endif
        EACH_AT(FETCH, i);
        BLOCK_LOOP
        {
            EACH_AT(VALUE, i + l);
            buffer[l] = RESULT(EXPRESSION);
        }
#if EPILOGUE
        UNROLL(16)
        for (int v = 0; v < BLOCK; v += WIDTH)
            store((STREAM ? buffer : out + i) + v,
                  epilogue(load(buffer + v), arg, o + i + v, WIDTH));
#endif
#if STREAM
        for (int l = 0; l < BLOCK; l += LINE / (int)sizeof(OUT_T))
            stream_line(out + i + l, buffer + l);
#endif
    }
    for (; i < n; i++) {
        EACH_AT(VALUE, i);
        out[i] = ELEMENT(i);
    }
}

#endif

#define OFFSET(k) i64 x##k##_offset = 0
#if OUTER_LOOPS
#define STEP(k, d) x##k##_offset += place * X##k##_OUTER##d
#define OUTER_STEP(d)                                                                          \
    do {                                                                                       \
        const i64 place = rest % OUTER##d;                                                     \
        rest /= OUTER##d;                                                                      \
        out_offset += place * O_OUTER##d;                                                      \
        EACH_AT(STEP, d);                                                                      \
    } while (0)
#endif
#define STEP_ROW(k, r) x##k##_offset += (r)*X##k##_ROW
#define STEP_INNER(k, i) x##k##_offset += (i)*X##k##_INNER

/* One task: some rows of the middle loop at one place of the outer ones, or a part of a row. */
INLINE void task(i64 number, void *const *arg)
{
    const i64 chunk = number % CEIL_DIV(INNER, CHUNK);
    const i64 rows = number / CEIL_DIV(INNER, CHUNK) % CEIL_DIV(ROWS, ROWS_AT_ONCE);
    i64 rest = number / CEIL_DIV(INNER, CHUNK) / CEIL_DIV(ROWS, ROWS_AT_ONCE), out_offset = 0;
    EACH(OFFSET, ;);
#if OUTER_LOOPS > 5
    OUTER_STEP(5);
#endif
#if OUTER_LOOPS > 4
    OUTER_STEP(4);
#endif
#if OUTER_LOOPS > 3
    OUTER_STEP(3);
#endif
#if OUTER_LOOPS > 2
    OUTER_STEP(2);
#endif
#if OUTER_LOOPS > 1
    OUTER_STEP(1);
#endif
#if OUTER_LOOPS > 0
    OUTER_STEP(0);
#endif
    const i64 first = rows * ROWS_AT_ONCE, last = MIN(first + ROWS_AT_ONCE, ROWS);
    out_offset += first * O_ROW + chunk * CHUNK;
    EACH_AT(STEP_ROW, first);
    EACH_AT(STEP_INNER, chunk * CHUNK);
    for (i64 r = first; r < last; r++) {
        EACH(POINTER, ;);
        OUT_MEMORY *const out = (OUT_MEMORY *)arg[0] + out_offset;
        if (CHUNK == INNER)
            row(out, EACH(PASS, COMMA), INNER, arg, out_offset);
        else
            row(out, EACH(PASS, COMMA), MIN(CHUNK, INNER - chunk * CHUNK), arg, out_offset);
        out_offset += O_ROW;
        EACH_AT(STEP_ROW, 1);
    }
}

void broadcast(void *const *arg)
{
    PARALLEL_FOR
    for (i64 t = 0; t < OUTER * CEIL_DIV(ROWS, ROWS_AT_ONCE) * CEIL_DIV(INNER, CHUNK); t++)
        task(t, arg);
#if STREAM && !STORED_HALF
    stream_end();
#endif
}
