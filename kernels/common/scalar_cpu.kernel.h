/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of scalar expressions for CPU bodies, see scalar.h. The plan defines SCALAR
 * (the type of the expression), SCALAR_REAL (it is float or double) and SCALAR_BITS; RESULT(x)
 * turns a SCALAR into an element of OUT_T by RESULT_BY, so that integers wrap.
 *
 * All but s_pow and functions of angles, which are the C library's, are straight-line code without
 * calls, so that a loop over an array becomes vector code at -O3. Exponentials: x = n ln 2 + r, a
 * polynomial in r interpolated at Chebyshev nodes, and two factors 2^(n/2), so that overflow and
 * denormals come out right. Logarithms: the series of atanh((m-1)/(m+1)). Errors are below 1.5 ulp
 * for s_exp and s_log, 3 for s_erf (erf_cpu.kernel.h), s_tanh and s_sigmoid.
 */
#ifndef OPTUNE_KERNELS_COMMON_SCALAR_CPU_H
#define OPTUNE_KERNELS_COMMON_SCALAR_CPU_H

#include "kernels/common/cpu.kernel.h"

#define RESULT(x) ((OUT_T)(RESULT_BY(x)))

/* Attributes of the expression, as variables: fused expressions have their own. */
#ifdef ATTRIBUTES
#define AT(i, v) static const SCALAR a##i = (SCALAR)(v);
ATTRIBUTES
#undef AT
#endif

#define s_abs(x) ot_abs(x)
#define s_max(a, b) ot_max(a, b)
#define s_min(a, b) ot_min(a, b)
#define s_select(c, a, b) ((c) ? (SCALAR)(a) : (SCALAR)(b))

/* One instruction gives a when b is not larger and when either is NaN; what is left is b's NaN,
 * found beside the chain of a reduction whose new value is b. */
INLINE SCALAR ot_max(SCALAR a, SCALAR b)
{
    const SCALAR larger = b > a ? b : a;
    return b != b ? b : larger;
}
INLINE SCALAR ot_min(SCALAR a, SCALAR b)
{
    const SCALAR smaller = b < a ? b : a;
    return b != b ? b : smaller;
}
#if !SCALAR_REAL

INLINE SCALAR ot_abs(SCALAR x)
{
    return x < 0 ? -x : x;
}
#define s_lowest ((SCALAR)SCALAR_LOWEST)
#define s_highest ((SCALAR)SCALAR_HIGHEST)

#else

#define s_lowest (-(SCALAR)__builtin_inff())
#define s_highest ((SCALAR)__builtin_inff())

#if SCALAR_BITS == 64
typedef i64 ot_bits;
typedef u64 ot_pattern;
#define OT_FRACTION 52
#define OT_BIAS 1023
#define OT_ROUND 0x1.8p52
#define OT_LN2_HI 0x1.62e42fefp-1
#define OT_LN2_LO 0x1.473de6af278edp-34
#define OT_EXP_MOST 710
#define OT_EXP_LEAST (-746)
#define OT_TANH_MOST 22
#define OT_EXPM1_TAIL(r)                                                                       \
    (0x1p-1 + r * (0x1.5555555555556p-3 +                                                      \
                   r * (0x1.5555555553d56p-5 +                                                 \
                        r * (0x1.11111111109afp-7 +                                            \
                             r * (0x1.6c16c17890eb4p-10 +                                      \
                                  r * (0x1.a01a01a7c73c0p-13 +                                 \
                                       r * (0x1.a019b8f9792eep-16 +                            \
                                            r * (0x1.71de0da24602dp-19 +                       \
                                                 r * (0x1.28919ccaf9211p-22 +                  \
                                                      r * 0x1.af38c67fbb53ep-26)))))))))
#define OT_LOG_TAIL(z)                                                                         \
    (2. / 3 +                                                                                  \
     z * (2. / 5 +                                                                             \
          z * (2. / 7 +                                                                        \
               z * (2. / 9 + z * (2. / 11 +                                                    \
                                  z * (2. / 13 +                                               \
                                       z * (2. / 15 +                                          \
                                            z * (2. / 17 + z * (2. / 19 + z * 2. / 21)))))))))
#define OT_SMALLEST 0x1p-1022
#define OT_SQRT(x) __builtin_sqrt(x)
#define OT_FLOOR(x) __builtin_floor(x)
#define OT_RINT(x) __builtin_rint(x)
#define OT_POW(x, y) __builtin_pow(x, y)
#define OT_LIBRARY(name, x) __builtin_##name(x)
#define OT_NAN __builtin_nan("")
#else
typedef i32 ot_bits;
typedef u32 ot_pattern;
#define OT_FRACTION 23
#define OT_BIAS 127
#define OT_ROUND 0x1.8p23f
#define OT_LN2_HI 0x1.62e4p-1f
#define OT_LN2_LO 1.4286068203e-06f
#define OT_EXP_MOST 89
#define OT_EXP_LEAST (-104)
#define OT_TANH_MOST 10
#define OT_EXPM1_TAIL(r)                                                                       \
    (0x1p-1f +                                                                                 \
     r * (0x1.5554dcp-3f + r * (0x1.55551ap-5f + r * (0x1.120b90p-7f + r * 0x1.6d112cp-10f))))
#define OT_LOG_TAIL(z)                                                                         \
    (2.f / 3 + z * (2.f / 5 + z * (2.f / 7 + z * (2.f / 9 + z * (2.f / 11)))))
#define OT_SMALLEST 0x1p-126f
#define OT_SQRT(x) __builtin_sqrtf(x)
#define OT_FLOOR(x) __builtin_floorf(x)
#define OT_RINT(x) __builtin_rintf(x)
#define OT_POW(x, y) __builtin_powf(x, y)
#define OT_LIBRARY(name, x) __builtin_##name##f(x)
#define OT_NAN __builtin_nanf("")
#endif

#define s_sqrt(x) OT_SQRT((SCALAR)(x))
#define s_floor(x) OT_FLOOR((SCALAR)(x))
#define s_round(x) OT_RINT((SCALAR)(x))
#define s_pow(x, y) OT_POW((SCALAR)(x), (SCALAR)(y))
#define s_sin(x) OT_LIBRARY(sin, (SCALAR)(x))
#define s_cos(x) OT_LIBRARY(cos, (SCALAR)(x))
#define s_tan(x) OT_LIBRARY(tan, (SCALAR)(x))
#define s_asin(x) OT_LIBRARY(asin, (SCALAR)(x))
#define s_acos(x) OT_LIBRARY(acos, (SCALAR)(x))
#define s_atan(x) OT_LIBRARY(atan, (SCALAR)(x))
#define s_exp(x) ot_exp(x)
#define s_log(x) ot_log(x)
#define s_tanh(x) ot_tanh(x)
#define s_erf(x) ot_erf(x)
#define s_sigmoid(x) ((SCALAR)1 / ((SCALAR)1 + ot_exp(-(x))))

INLINE ot_bits ot_to_bits(SCALAR x)
{
    ot_bits b;
    __builtin_memcpy(&b, &x, sizeof b);
    return b;
}
INLINE SCALAR ot_from_bits(ot_bits b)
{
    SCALAR x;
    __builtin_memcpy(&x, &b, sizeof x);
    return x;
}
#define OT_SIGN ot_to_bits(-(SCALAR)0)

INLINE SCALAR ot_abs(SCALAR x)
{
    return ot_from_bits(ot_to_bits(x) & ~OT_SIGN);
}
INLINE SCALAR ot_power2(ot_bits n)
{
    return ot_from_bits((ot_bits)((ot_pattern)(n + OT_BIAS) << OT_FRACTION));
}

/* x = n ln 2 + r, |r| <= ln 2 / 2; n without a conversion: it is in the low bits of the sum. */
INLINE ot_bits ot_reduce(SCALAR x, SCALAR *r)
{
    const SCALAR shifted = x * (SCALAR)0x1.71547652b82fep0 + OT_ROUND;
    const SCALAR n = shifted - OT_ROUND;
    *r = (x - n * OT_LN2_HI) - n * OT_LN2_LO;
    return (ot_bits)((ot_pattern)ot_to_bits(shifted) - (ot_pattern)ot_to_bits(OT_ROUND));
}

INLINE SCALAR ot_exp(SCALAR x)
{
    SCALAR r;
    x = x > OT_EXP_MOST ? (SCALAR)OT_EXP_MOST : x;
    x = x < OT_EXP_LEAST ? (SCALAR)OT_EXP_LEAST : x;
    const ot_bits n = ot_reduce(x, &r), half = n >> 1;
    const SCALAR e = 1 + (r + r * r * OT_EXPM1_TAIL(r));
    return e * ot_power2(half) * ot_power2(n - half);
}

/* (e - 1) / (e + 1) of e = exp(2|x|), where e - 1 keeps its digits near 0. */
INLINE SCALAR ot_tanh(SCALAR x)
{
    SCALAR r, a = ot_abs(x);
    a = a > OT_TANH_MOST ? (SCALAR)OT_TANH_MOST : a;
    const SCALAR scale = ot_power2(ot_reduce(2 * a, &r));
    const SCALAR m = scale * (r + r * r * OT_EXPM1_TAIL(r)) + (scale - 1);
    return ot_from_bits(ot_to_bits(m / (m + 2)) | (ot_to_bits(x) & OT_SIGN));
}

INLINE SCALAR ot_log(SCALAR x)
{
    const ot_bits tiny = x < OT_SMALLEST;
    const SCALAR scaled = tiny ? x * ot_power2(OT_FRACTION + 1) : x;
    const ot_pattern bits = (ot_pattern)ot_to_bits(scaled);
    /* The exponent that leaves m between the roots of 1/2 and 2. */
    const ot_bits e =
        (ot_bits)(bits - (ot_pattern)ot_to_bits((SCALAR)0x1.6a09e6p-1)) >> OT_FRACTION;
    const SCALAR m = ot_from_bits((ot_bits)(bits - ((ot_pattern)e << OT_FRACTION)));
    const SCALAR k = (SCALAR)(e - (tiny ? OT_FRACTION + 1 : 0));
    const SCALAR f = m - 1, s = f / (2 + f), z = s * s, h = f * f / 2;
    SCALAR y = k * OT_LN2_HI - ((h - (s * (h + z * OT_LOG_TAIL(z)) + k * OT_LN2_LO)) - f);
    y = x == (SCALAR)__builtin_inff() ? x : y;
    y = x == 0 ? -(SCALAR)__builtin_inff() : y;
    return x >= 0 ? y : OT_NAN;
}

#include "kernels/common/erf_cpu.kernel.h"

#endif
#endif
