/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of a call as they lie in memory, for CPU bodies that compute in vectors of DTYPE:
 * `stored` is the type of an element. A body that defines STORED_TENSORS reads and writes all
 * floats of its call's tensors, and of what is fused behind it, by these words alone. Then a call
 * of 16-bit floats needs no stages that convert it (strategy/widen.c): where it is 16-bit floats of
 * one type throughout the harness defines STORED_BRAIN (0 float16, 1 bfloat16), DTYPE is float, and
 * values become floats on their way into registers and are rounded once on their way out.
 * Elsewhere `stored` is DTYPE. Such a body keeps nothing in its output that it reads again. One
 * that defines STORED_SOME, too, takes float32 beside them: then STORED_MASK has a bit for each
 * input of 16 bits and, behind these, the output.
 */
#ifndef OPTUNE_KERNELS_COMMON_STORED_H
#define OPTUNE_KERNELS_COMMON_STORED_H

#include "kernels/common/epilogue_half.kernel.h"

#ifdef STORED_BRAIN

#define STORED_HALF 1
typedef unsigned short stored;
typedef u32 float_bits_at __attribute__((vector_size(VEC_BYTES), aligned(2), may_alias));

INLINE vec stored_load(const stored *p)
{
    const halves h = *(const halves_at *)p;
    return (vec)(STORED_BRAIN ? floats_of_bfloats(h) : floats_of_halves(h));
}
INLINE void stored_store(stored *p, vec v)
{
    *(halves_at *)p = STORED_BRAIN ? bfloats_of_floats((floats)v) : halves_of_floats((floats)v);
}
/* Of words of two numbers those in front and those behind them. */
INLINE vec stored_low(float_bits pair)
{
    return (vec)(STORED_BRAIN
                     ? (floats)(pair << 16)
                     : floats_of_halves(__builtin_convertvector(pair & 0xffff, halves)));
}
INLINE vec stored_high(float_bits pair)
{
    return (vec)(STORED_BRAIN ? (floats)(pair & 0xffff0000u)
                              : floats_of_halves(__builtin_convertvector(pair >> 16, halves)));
}
INLINE DTYPE stored_value(stored x)
{
    return STORED_BRAIN ? float_of_bfloat(x) : float_of_half(x);
}
INLINE stored stored_of(DTYPE x)
{
    return STORED_BRAIN ? bfloat_of_float(x) : half_of_float(x);
}

/* v is elements o, o + 1 .. of the output: see epilogue(). */
#define stored_fused(v, arg, o, lanes) epilogue_halves(v, arg, o, lanes)

#if EPILOGUE
INLINE DTYPE stored_fused_one(DTYPE ot_x, void *const *arg, i64 o)
{
#define STORED_READ(k, a, at, step)                                                            \
    const DTYPE ot_e##k = stored_value(((const stored *)arg[a])[at]);
#define STORED_ELEMENT(k) ot_e##k
    EPILOGUE_OPERANDS(STORED_READ, o)
    EPILOGUE_CHAIN(ot_x, STORED_ELEMENT)
    return ot_x;
}
#else
#define stored_fused_one(x, arg, o) (x)
#endif

#else

#define STORED_HALF 0
typedef DTYPE stored;

INLINE vec stored_load(const stored *p)
{
    return load(p);
}
INLINE void stored_store(stored *p, vec v)
{
    store(p, v);
}
#define stored_value(x) (x)
#define stored_of(x) (x)
#define stored_fused(v, arg, o, lanes) epilogue(v, arg, o, lanes)
#define stored_fused_one(x, arg, o) epilogue_one(x, arg, o)

#endif

/* The first n elements at p, n constant; the other lanes are `rest`. */
INLINE vec stored_get(const stored *p, const int n, DTYPE rest)
{
    if (n >= VLEN)
        return stored_load(p);
    vec v = splat(rest);
    for (int i = 0; i < n; i++)
        v[i] = stored_value(p[i]);
    return v;
}

INLINE void stored_put(stored *p, vec v, const int n)
{
    if (n >= VLEN) {
        stored_store(p, v);
        return;
    }
    for (int i = 0; i < n; i++)
        p[i] = stored_of(v[i]);
}

/* Some of a vector, however many. */
INLINE void stored_some(stored *p, vec v, const i64 n)
{
#if STORED_HALF
    const halves h = STORED_BRAIN ? bfloats_of_floats((floats)v) : halves_of_floats((floats)v);
    __builtin_memcpy(p, &h, (usize)n * sizeof *p);
#else
    __builtin_memcpy(p, &v, (usize)n * sizeof *p);
#endif
}

/* n elements into an array of DTYPE, and from one. */
INLINE void stored_read(DTYPE *to, const stored *from, i64 n)
{
#if STORED_HALF
    i64 i = 0;
    for (; i + VLEN <= n; i += VLEN)
        store(to + i, stored_load(from + i));
    for (; i < n; i++)
        to[i] = stored_value(from[i]);
#else
    __builtin_memcpy(to, from, (usize)n * sizeof(DTYPE));
#endif
}

INLINE void stored_write(stored *to, const DTYPE *from, i64 n)
{
#if STORED_HALF
    i64 i = 0;
    for (; i + VLEN <= n; i += VLEN)
        stored_store(to + i, load(from + i));
    for (; i < n; i++)
        to[i] = stored_of(from[i]);
#else
    __builtin_memcpy(to, from, (usize)n * sizeof(DTYPE));
#endif
}

#endif
