/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that scalar expressions of ops may use, under one name on every target: s_exp,
 * s_log, s_sqrt, s_tanh, s_sigmoid, s_erf, s_sin, s_cos, s_tan, s_asin, s_acos, s_atan, s_pow,
 * s_abs, s_floor, s_round (halves to even), s_max, s_min, s_select. This file is for op files, in
 * double precision; scalar_cpu.kernel.h and scalar_gpu.kernel.h are the same for bodies.
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
#define s_abs(x) fabs(x)
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

static inline double s_max(double a, double b)
{
    return a > b || a != a ? a : b;
}
static inline double s_min(double a, double b)
{
    return a < b || a != a ? a : b;
}

#endif
