/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of vectors, and transposition in registers, for conv2d bodies. The plan defines LANES,
 * the elements of one vector: a power of two from 2 to 16. A part never touches memory outside
 * itself, and never goes through the stack: a store of n elements is at most five stores.
 */
#ifndef OPTUNE_KERNELS_CONV2D_LANES_H
#define OPTUNE_KERNELS_CONV2D_LANES_H

#include "kernels/common/epilogue.kernel.h"

#define PART(n) __attribute__((vector_size((n) * sizeof(DTYPE)), aligned(sizeof(DTYPE)), may_alias))
typedef DTYPE part2 PART(2);
typedef DTYPE part4 PART(4);
typedef DTYPE part8 PART(8);

/* The lower and the upper half of a part; lanes of two of equal width side by side. */
#if defined(__clang__) || __GNUC__ >= 12
#define HALF2(v, h) __builtin_shufflevector(v, v, 2 * (h), 2 * (h) + 1)
#define HALF4(v, h)                                                                              \
    __builtin_shufflevector(v, v, 4 * (h), 4 * (h) + 1, 4 * (h) + 2, 4 * (h) + 3)
#define HALF8(v, h)                                                                              \
    __builtin_shufflevector(v, v, 8 * (h), 8 * (h) + 1, 8 * (h) + 2, 8 * (h) + 3, 8 * (h) + 4,   \
                            8 * (h) + 5, 8 * (h) + 6, 8 * (h) + 7)
#define LANES_OF(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else /* gcc before 12 */
#define HALF_OF(part, v, h)                                                                      \
    (((union {                                                                                   \
         __typeof__(v) whole;                                                                    \
         part half[2];                                                                           \
     }){.whole = (v)})                                                                           \
         .half[h])
#define HALF2(v, h) HALF_OF(part2, v, h)
#define HALF4(v, h) HALF_OF(part4, v, h)
#define HALF8(v, h) HALF_OF(part8, v, h)
#define LANES_OF(a, b, ...)                                                                      \
    __builtin_shuffle(                                                                           \
        a, b,                                                                                    \
        (__typeof__(__builtin_choose_expr(sizeof(DTYPE) == 8, (i64)0, (i32)0))                   \
             __attribute__((vector_size(sizeof(a))))){__VA_ARGS__})
#endif

INLINE void put2(DTYPE *p, part2 v, const int n)
{
    if (n == 2)
        *(part2 *)p = v;
    else if (n == 1)
        *p = v[0];
}

INLINE void put4(DTYPE *p, part4 v, const int n)
{
    if (n == 4)
        *(part4 *)p = v;
    else if (n >= 2) {
        put2(p, HALF2(v, 0), 2);
        put2(p + 2, HALF2(v, 1), n - 2);
    } else
        put2(p, HALF2(v, 0), n);
}

INLINE void put8(DTYPE *p, part8 v, const int n)
{
    if (n == 8)
        *(part8 *)p = v;
    else if (n >= 4) {
        put4(p, HALF4(v, 0), 4);
        put4(p + 4, HALF4(v, 1), n - 4);
    } else
        put4(p, HALF4(v, 0), n);
}

/* Stores the first n lanes, n constant. */
INLINE void put(DTYPE *p, vec v, const int n)
{
#if LANES == 16
    if (n == 16)
        store(p, v);
    else if (n >= 8) {
        put8(p, HALF8(v, 0), 8);
        put8(p + 8, HALF8(v, 1), n - 8);
    } else
        put8(p, HALF8(v, 0), n);
#elif LANES == 8
    put8(p, v, n);
#elif LANES == 4
    put4(p, v, n);
#else
    put2(p, v, n);
#endif
}

/* The same where n comes at run time. */
INLINE void put2_some(DTYPE *p, part2 v, i64 n)
{
    if (n & 1)
        *p = v[0];
}

INLINE void put4_some(DTYPE *p, part4 v, i64 n)
{
    if (n & 2)
        *(part2 *)p = HALF2(v, 0);
    put2_some(n & 2 ? p + 2 : p, n & 2 ? HALF2(v, 1) : HALF2(v, 0), n);
}

INLINE void put8_some(DTYPE *p, part8 v, i64 n)
{
    if (n & 4)
        *(part4 *)p = HALF4(v, 0);
    put4_some(n & 4 ? p + 4 : p, n & 4 ? HALF4(v, 1) : HALF4(v, 0), n);
}

/* Vectors of 16 floats have masks; parts of others are handled one by one. */
#if defined(__AVX512F__) && LANES == 16 && VEC_BYTES == 64
#define MASKED 1
typedef float masked_vec __attribute__((vector_size(64)));
#define FIRST_LANES(n) ((unsigned short)((1u << (n)) - 1))
#else
#define MASKED 0
#endif

INLINE void put_some(DTYPE *p, vec v, i64 n)
{
    if (n >= LANES) {
        store(p, v);
        return;
    }
#if MASKED
    __builtin_ia32_storeups512_mask((float *)p, (masked_vec)v, FIRST_LANES(n));
#elif LANES == 16
    if (n & 8)
        *(part8 *)p = HALF8(v, 0);
    put8_some(n & 8 ? p + 8 : p, n & 8 ? HALF8(v, 1) : HALF8(v, 0), n);
#elif LANES == 8
    put8_some(p, v, n);
#elif LANES == 4
    put4_some(p, v, n);
#else
    put2_some(p, v, n);
#endif
}

/* Stores half of the lanes: the lower (h = 0) or the upper ones. */
INLINE void put_half(DTYPE *p, vec v, const int h)
{
#if LANES == 16
    *(part8 *)p = h ? HALF8(v, 1) : HALF8(v, 0);
#elif LANES == 8
    *(part4 *)p = h ? HALF4(v, 1) : HALF4(v, 0);
#elif LANES == 4
    *(part2 *)p = h ? HALF2(v, 1) : HALF2(v, 0);
#else
    *p = v[h];
#endif
}

/* The first n elements at p and zeros, n constant. */
INLINE vec get(const DTYPE *p, const int n)
{
    vec v = {0};
    if (n == LANES)
        v = load(p);
    else
        __builtin_memcpy(&v, p, (usize)n * sizeof(DTYPE));
    return v;
}

/* ---- what is fused behind the call -------------------------------------------------------- */

#if EPILOGUE && MASKED
/* epilogue() of a vector of which n lanes exist, n at run time. An operand that is put together on
 * the stack is not read back before all of its parts are written. */
INLINE vec epilogue_some(vec v, void *const *arg, i64 o, i64 n)
{
    if (n >= LANES)
        return epilogue(v, arg, o, LANES);
    DTYPE x[LANES] __attribute__((aligned(VEC_BYTES)));
    *(vec *)x = v;
#define OPERAND_OF_SOME(k, a, at, step)                                                        \
    DTYPE e##k[LANES] __attribute__((aligned(VEC_BYTES)));                                     \
    if (step)                                                                                  \
        *(vec *)e##k = (vec)__builtin_ia32_loadups512_mask((const float *)arg[a] + (at),       \
                                                           (masked_vec){0}, FIRST_LANES(n));   \
    else                                                                                       \
        *(vec *)e##k = splat(((const DTYPE *)arg[a])[at]);
#define LANE_OF_SOME(k) e##k[l]
    EPILOGUE_OPERANDS(OPERAND_OF_SOME, o)
    /* Not unrolled before it becomes vector code. */
    UNROLL(1)
    for (int l = 0; l < LANES; l++)
        EPILOGUE_CHAIN(x[l], LANE_OF_SOME)
    return *(vec *)x;
}
#else
#define epilogue_some(v, arg, o, n) epilogue(v, arg, o, n)
#endif

/* That `count` elements of the output from o on will be written, and what goes with them read:
 * asked for while they are computed. Of planes, whose rows lie far apart, nothing else fetches the
 * lines ahead. */
INLINE void expect(DTYPE *out, void *const *arg, i64 o, i64 count)
{
    const i64 line = 64 / sizeof(DTYPE);
    for (i64 i = 0; i < count - 1; i += line)
        __builtin_prefetch(out + o + i, 1);
    __builtin_prefetch(out + o + count - 1, 1);
#if EPILOGUE
#define EXPECT_OPERAND(k, a, at, step)                                                         \
    if (step)                                                                                  \
        __builtin_prefetch((const DTYPE *)arg[a] + (at));
    for (i64 i = 0; i < count - 1; i += line) {
        EPILOGUE_OPERANDS(EXPECT_OPERAND, o + i)
    }
    EPILOGUE_OPERANDS(EXPECT_OPERAND, o + count - 1)
#endif
}

/* ---- transposition ------------------------------------------------------------------------ */

#if VEC_BYTES == 8 * LANES
typedef i64 lane_index __attribute__((vector_size(VEC_BYTES)));
#else
typedef i32 lane_index __attribute__((vector_size(VEC_BYTES)));
#endif

#if LANES == 16
#define EACH_LANE(f, s)                                                                          \
    f(0, s), f(1, s), f(2, s), f(3, s), f(4, s), f(5, s), f(6, s), f(7, s), f(8, s), f(9, s),    \
        f(10, s), f(11, s), f(12, s), f(13, s), f(14, s), f(15, s)
#elif LANES == 8
#define EACH_LANE(f, s)                                                                          \
    f(0, s), f(1, s), f(2, s), f(3, s), f(4, s), f(5, s), f(6, s), f(7, s)
#elif LANES == 4
#define EACH_LANE(f, s) f(0, s), f(1, s), f(2, s), f(3, s)
#else
#define EACH_LANE(f, s) f(0, s), f(1, s)
#endif

/* One step of Eklundh's transposition: exchanges off-diagonal blocks of s x s. */
#define LOW(l, s) ((l) & (s) ? LANES + (l) - (s) : (l))
#define HIGH(l, s) ((l) & (s) ? LANES + (l) : (l) + (s))
#define EXCHANGE(t, s)                                                                           \
    UNROLL(16) for (int i = 0; i < LANES; i++) if (!(i & (s)))                                   \
    {                                                                                            \
        const vec a = t[i], b = t[i + (s)];                                                      \
        t[i] = __builtin_shuffle(a, b, (lane_index){EACH_LANE(LOW, s)});                         \
        t[i + (s)] = __builtin_shuffle(a, b, (lane_index){EACH_LANE(HIGH, s)});                  \
    }

/* t[i][j] <-> t[j][i] for LANES vectors. */
INLINE void transpose(vec t[LANES])
{
#if LANES > 8
    EXCHANGE(t, 8)
#endif
#if LANES > 4
    EXCHANGE(t, 4)
#endif
#if LANES > 2
    EXCHANGE(t, 2)
#endif
    EXCHANGE(t, 1)
}

#endif
