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

/* The lower and the upper half of a part. */
#define HALF2(v, h) __builtin_shufflevector(v, v, 2 * (h), 2 * (h) + 1)
#define HALF4(v, h)                                                                              \
    __builtin_shufflevector(v, v, 4 * (h), 4 * (h) + 1, 4 * (h) + 2, 4 * (h) + 3)
#define HALF8(v, h)                                                                              \
    __builtin_shufflevector(v, v, 8 * (h), 8 * (h) + 1, 8 * (h) + 2, 8 * (h) + 3, 8 * (h) + 4,   \
                            8 * (h) + 5, 8 * (h) + 6, 8 * (h) + 7)

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

INLINE void put_some(DTYPE *p, vec v, i64 n)
{
    if (n >= LANES) {
        store(p, v);
        return;
    }
#if LANES == 16
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
