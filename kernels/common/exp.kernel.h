/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exponential, maxima and reductions of whole vectors, for bodies. No library, no tables:
 * exp(x) = 2^n * exp(r), n = round(x / ln 2), exp(r) = 1 + r + r*r*q(r) with q the minimax
 * polynomial of relative error 2^-28 (float) or 2^-57 (double) on |r| <= ln 2 / 2. ln 2 is one
 * constant: results are within 1 + |x| / 20 units in the last place, less than what rounding x
 * cost already; those below the smallest normal number may be zero.
 */
#ifndef OPTUNE_KERNELS_COMMON_EXP_H
#define OPTUNE_KERNELS_COMMON_EXP_H

#include "kernels/common/cpu.kernel.h"

/* Integers as wide as DTYPE. */
typedef __typeof__(__builtin_choose_expr(sizeof(DTYPE) == 8, (i64)0, (i32)0)) exp_int;
typedef exp_int exp_vec __attribute__((vector_size(VEC_BYTES)));

/* a > b ? a : b in every lane: b where either is a NaN. One instruction where there is one. */
INLINE vec vec_max(vec a, vec b)
{
#if defined(__AVX512F__) && VEC_BYTES == 64
    typedef float singles __attribute__((vector_size(64)));
    typedef double doubles __attribute__((vector_size(64)));
    return sizeof(DTYPE) == 4
               ? (vec)__builtin_ia32_maxps512_mask((singles)a, (singles)b, (singles)a, -1, 4)
               : (vec)__builtin_ia32_maxpd512_mask((doubles)a, (doubles)b, (doubles)a, -1, 4);
#elif defined(__AVX__) && VEC_BYTES == 32
    typedef float singles __attribute__((vector_size(32)));
    typedef double doubles __attribute__((vector_size(32)));
    return sizeof(DTYPE) == 4 ? (vec)__builtin_ia32_maxps256((singles)a, (singles)b)
                              : (vec)__builtin_ia32_maxpd256((doubles)a, (doubles)b);
#elif defined(__SSE2__) && VEC_BYTES == 16
    typedef float singles __attribute__((vector_size(16)));
    typedef double doubles __attribute__((vector_size(16)));
    return sizeof(DTYPE) == 4 ? (vec)__builtin_ia32_maxps((singles)a, (singles)b)
                              : (vec)__builtin_ia32_maxpd((doubles)a, (doubles)b);
#else
    const exp_vec larger = a > b;
    return (vec)((larger & (exp_vec)a) | (~larger & (exp_vec)b));
#endif
}

/* The larger of both, NaN where either is one: for maxima in which a NaN must not get lost. */
INLINE vec vec_most(vec a, vec b)
{
#if defined(__AVX512F__) && VEC_BYTES == 64
    /* b stays when it is a NaN; one in a is put in afterwards: classes 0 and 1 are NaNs, and
     * answer 2 is the source's quiet NaN. */
    typedef float singles __attribute__((vector_size(64)));
    typedef double doubles __attribute__((vector_size(64)));
    const vec most = vec_max(a, b);
    const exp_vec table = (exp_vec){0} + 0x22;
    if (sizeof(DTYPE) == 4)
        return (vec)__builtin_ia32_fixupimmps512_mask(
            (singles)most, (singles)a, (int __attribute__((vector_size(64))))table, 0, -1, 4);
    return (vec)__builtin_ia32_fixupimmpd512_mask(
        (doubles)most, (doubles)a, (long long __attribute__((vector_size(64))))table, 0, -1, 4);
#else
    const exp_vec chosen = (a > b) | (a != a);
    return (vec)((chosen & (exp_vec)a) | (~chosen & (exp_vec)b));
#endif
}

#define SMALLEST_EXPONENT ((DTYPE)(sizeof(DTYPE) == 8 ? -708.9 : -88.0))

/* exp(x) for x <= 0; exactly 0 for -infinity, NaN for a NaN. */
INLINE vec vec_exp(vec x)
{
    const int wide = sizeof(DTYPE) == 8;
    /* Adding it rounds to an integer, which is then in the low bits with the exponent's bias. */
    const DTYPE round = (DTYPE)(wide ? 0x1.8p52 + 1023 : 0x1.8p23 + 127);
    x = vec_max(splat(SMALLEST_EXPONENT), x);
    const vec shifted = x * (DTYPE)0x1.71547652b82fep+0 + round;
    const vec power = (vec)((exp_vec)shifted << (wide ? 52 : 23));
    const vec r = x - (shifted - round) * (DTYPE)0x1.62e42fefa39efp-1;
    vec q;
    if (wide) {
        q = r * (DTYPE)2.5000018376404529e-08 + (DTYPE)2.7630306344621711e-07;
        q = q * r + (DTYPE)2.7557586805904078e-06;
        q = q * r + (DTYPE)2.4801492949361809e-05;
        q = q * r + (DTYPE)0.00019841269505770564;
        q = q * r + (DTYPE)0.0013888888943760233;
        q = q * r + (DTYPE)0.00833333333349498;
        q = q * r + (DTYPE)0.041666666666529725;
        q = q * r + (DTYPE)0.1666666666666641;
        q = q * r + (DTYPE)0.50000000000000111;
    } else {
        q = r * (DTYPE)0.00138145405 + (DTYPE)0.00836874512;
        q = q * r + (DTYPE)0.0416683908;
        q = q * r + (DTYPE)0.166665204;
        q = q * r + (DTYPE)0.499999934;
    }
    q = q * r + (DTYPE)1;
    return (q * r + (DTYPE)1) * power;
}

/* Lane i of the result is lane i ^ s. */
INLINE vec vec_swap(vec v, const int s)
{
    exp_vec from = {0};
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        from[i] = i ^ s;
    return __builtin_shuffle(v, from);
}

/* The sum, and the largest, of all lanes. */
INLINE DTYPE vec_sum(vec v)
{
    UNROLL(8)
    for (int s = VLEN / 2; s > 0; s /= 2)
        v += vec_swap(v, s);
    return v[0];
}

INLINE DTYPE vec_largest(vec v)
{
    UNROLL(8)
    for (int s = VLEN / 2; s > 0; s /= 2)
        v = vec_max(v, vec_swap(v, s));
    return v[0];
}

/* v in lanes [from, VLEN), `other` below; `from` constant. */
INLINE vec vec_from(vec v, DTYPE other, const int from)
{
    exp_vec lane = {0};
    UNROLL(64)
    for (int i = 0; i < VLEN; i++)
        lane[i] = i >= from ? i : VLEN;
    return __builtin_shuffle(v, splat(other), lane);
}

/* The first n elements at p, n constant; the other lanes are `rest`. */
INLINE vec vec_get(const DTYPE *p, const int n, DTYPE rest)
{
    if (n >= VLEN)
        return load(p);
    vec v = splat(rest);
    for (int i = 0; i < n; i++)
        v[i] = p[i];
    return v;
}

INLINE void vec_put(DTYPE *p, vec v, const int n)
{
    if (n >= VLEN) {
        store(p, v);
        return;
    }
    for (int i = 0; i < n; i++)
        p[i] = v[i];
}

#endif
