/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that scalar expressions of ops may use, under one name on every target: s_exp,
 * s_log, s_sqrt, s_tanh, s_sigmoid, s_erf, s_sin, s_cos, s_tan, s_asin, s_acos, s_atan, s_pow,
 * s_abs, s_floor, s_round (halves to even), s_max, s_min, s_select. This file is for op files, in
 * double precision and in integers; scalar_cpu.kernel.h and scalar_gpu.kernel.h are the same for
 * bodies.
 *
 * s_max and s_min give NaN when either operand is NaN; s_select(c, a, b) is a where c, else b,
 * and may evaluate both.
 */
#ifndef OPTUNE_KERNELS_HOST_SCALAR_H
#define OPTUNE_KERNELS_HOST_SCALAR_H

#include <math.h>

#include "optune/define.h"

#define s_exp(x) exp(x)
#define s_log(x) log(x)
#define s_sqrt(x) sqrt(x)
#define s_tanh(x) tanh(x)
#define s_sigmoid(x) (1 / (1 + exp(-(x))))
#define s_pow(x, y) pow(x, y)
#define s_abs(x)                                                                               \
    _Generic((x), optune_wide : s_abs_whole, uint64_t : s_abs_natural, default : fabs)(x)
#define s_floor(x) floor(x)
#define s_round(x) rint(x)
#define s_erf(x) erf(x)
#define s_sin(x) sin(x)
#define s_cos(x) cos(x)
#define s_tan(x) tan(x)
#define s_asin(x) asin(x)
#define s_acos(x) acos(x)
#define s_atan(x) atan(x)
#define s_select(c, a, b) ((c) ? (a) : (b))
/* Identities of s_max and s_min: minus and plus infinity, or the type's extremes. */
#define s_lowest (-(double)INFINITY)
#define s_highest ((double)INFINITY)

#define S_EXTREMES(suffix, type)                                                               \
    static inline type s_max_##suffix(type a, type b)                                          \
    {                                                                                          \
        return a > b || a != a ? a : b;                                                        \
    }                                                                                          \
    static inline type s_min_##suffix(type a, type b)                                          \
    {                                                                                          \
        return a < b || a != a ? a : b;                                                        \
    }
S_EXTREMES(real, double)
S_EXTREMES(whole, optune_wide)
S_EXTREMES(natural, uint64_t)
#define S_BY_TYPE(name, a, b)                                                                  \
    _Generic((a) + (b), optune_wide                                                            \
             : name##_whole, uint64_t                                                          \
             : name##_natural, default                                                         \
             : name##_real)(a, b)
#define s_max(a, b) S_BY_TYPE(s_max, a, b)
#define s_min(a, b) S_BY_TYPE(s_min, a, b)

static inline optune_wide s_abs_whole(optune_wide x)
{
    return x < 0 ? -x : x;
}
static inline uint64_t s_abs_natural(uint64_t x)
{
    return x;
}

#endif
