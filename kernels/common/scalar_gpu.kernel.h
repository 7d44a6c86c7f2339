/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar.h for CUDA and OpenCL: their own functions, which are within the expressions' bounds.
 * SCALAR is the type of the expression, SCALAR_REAL tells whether it is a floating one,
 * SCALAR_LOWEST and SCALAR_HIGHEST are its extremes where it is not. The plan defines the
 * attributes a0 ... of the expression. RESULT(x) turns a SCALAR into
 * an element of OUT_T by RESULT_BY.
 */
#ifndef OPTUNE_KERNELS_COMMON_SCALAR_GPU_H
#define OPTUNE_KERNELS_COMMON_SCALAR_GPU_H

#include "kernels/common/gpu.kernel.h"

#define RESULT(x) ((OUT_T)(RESULT_BY(x)))

#ifdef OT_OPENCL
#define S_INFINITY INFINITY
#define s_pow(x, y) pow((SCALAR)(x), (SCALAR)(y))
#else
#define S_INFINITY __int_as_float(0x7F800000)
#define s_pow(x, y) S_REAL_FUNCTION(pow)((SCALAR)(x), (SCALAR)(y))
#endif

#if defined(OT_OPENCL) || SCALAR_BITS == 64
#define S_REAL_FUNCTION(name) name
#else
#define S_REAL_FUNCTION(name) name##f
#endif

#define s_exp(x) S_REAL_FUNCTION(exp)((SCALAR)(x))
#define s_log(x) S_REAL_FUNCTION(log)((SCALAR)(x))
#define s_sqrt(x) S_REAL_FUNCTION(sqrt)((SCALAR)(x))
#define s_tanh(x) S_REAL_FUNCTION(tanh)((SCALAR)(x))
#define s_sigmoid(x) ((SCALAR)1 / ((SCALAR)1 + s_exp(-(x))))
#define s_floor(x) S_REAL_FUNCTION(floor)((SCALAR)(x))
#define s_round(x) S_REAL_FUNCTION(rint)((SCALAR)(x))
#define s_erf(x) S_REAL_FUNCTION(erf)((SCALAR)(x))
#define s_sin(x) S_REAL_FUNCTION(sin)((SCALAR)(x))
#define s_cos(x) S_REAL_FUNCTION(cos)((SCALAR)(x))
#define s_tan(x) S_REAL_FUNCTION(tan)((SCALAR)(x))
#define s_asin(x) S_REAL_FUNCTION(asin)((SCALAR)(x))
#define s_acos(x) S_REAL_FUNCTION(acos)((SCALAR)(x))
#define s_atan(x) S_REAL_FUNCTION(atan)((SCALAR)(x))
#define s_select(c, a, b) ((c) ? (SCALAR)(a) : (SCALAR)(b))

INLINE SCALAR s_abs(SCALAR x)
{
    return x < 0 ? -x : x == 0 ? (SCALAR)0 : x;
}
INLINE SCALAR s_max(SCALAR a, SCALAR b)
{
    return a > b || a != a ? a : b;
}
INLINE SCALAR s_min(SCALAR a, SCALAR b)
{
    return a < b || a != a ? a : b;
}
#if SCALAR_REAL
#define s_lowest (-(SCALAR)S_INFINITY)
#define s_highest ((SCALAR)S_INFINITY)
#else
#define s_lowest ((SCALAR)SCALAR_LOWEST)
#define s_highest ((SCALAR)SCALAR_HIGHEST)
#endif

#endif
