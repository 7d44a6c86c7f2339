/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far an answer may be from the right one: what its dtype can say, and the bound that
 * follows from how much arithmetic it takes.
 *
 * The one idea: the bound grows as the error of honest arithmetic does, scale *
 * growth(terms) * eps * sum of absolute products, so it neither forgives a wrong tail nor
 * blames a long sum.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "run/worker.h"

static const double MOST_SCALE = 64;

bool ot_dtype_is_float(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT;
}

/* Distance from 1 to the next value, and the smallest normal one. */
double ot_dtype_epsilon(optune_dtype dtype)
{
    if (!ot_dtype_is_float(dtype))
        return 0;
    return dtype.code == OPTUNE_DTYPE_BFLOAT ? 0x1p-7
           : dtype.bits == 16                ? 0x1p-10
           : dtype.bits == 32                ? FLT_EPSILON
                                             : DBL_EPSILON;
}

double ot_dtype_smallest(optune_dtype dtype)
{
    if (!ot_dtype_is_float(dtype))
        return 0;
    return dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 16   ? 0x1p-14
           : dtype.code == OPTUNE_DTYPE_FLOAT && dtype.bits == 64 ? DBL_MIN
                                                                  : FLT_MIN;
}

/* 0: a value of any size has its place in it. */
double ot_dtype_largest(optune_dtype dtype)
{
    if (!ot_dtype_is_float(dtype))
        return 0;
    return dtype.code == OPTUNE_DTYPE_BFLOAT ? 0x1.fep127
           : dtype.bits == 16                ? 65504
           : dtype.bits == 32                ? FLT_MAX
                                             : DBL_MAX;
}

static double bound_of(const optune_call *call, const optune_impl *impl, int out_index,
                       bool at_worst)
{
    double eps = ot_dtype_epsilon(call->output[out_index].dtype);
    if (eps == 0)
        return 0;
    /* What rounding the sum to the output's type adds, and once more a fused operator's result. */
    double factor = 0;
    if (call->op->float32_sums && eps > FLT_EPSILON) {
        factor = eps;
        eps = FLT_EPSILON;
    }
    const double terms = call->op->terms ? call->op->terms(call) : 1;
    /* A row says what its algorithm loses; whoever needs more than this has lost the answer. */
    const double scale = impl->error_scale > 0 ? fmin(impl->error_scale, MOST_SCALE) : 1;
    /* Rounding errors add up like a random walk; a short sum cannot even do that. But equal numbers
     * are rounded the same way again and again, each time by half of eps at most. */
    const double walk = 2 * sqrt(terms) + 4,
                 growth = fmin(fmax(terms, 1), at_worst ? fmax(walk, terms / 2) : walk);
    /* A reduced numerics class rounds each factor once, whatever the sum is kept in. */
    for (int i = 0; i < call->n_attrs; i++)
        if (strcmp(call->attr[i].name, "math") == 0 && strcmp(call->attr[i].word, "tf32") == 0)
            factor += 0x1p-10;
    return scale * growth * eps + factor;
}

double ot_error_bound(const optune_call *call, const optune_impl *impl, int out_index)
{
    return bound_of(call, impl, out_index, false);
}

double ot_error_bound_at_worst(const optune_call *call, const optune_impl *impl, int out_index)
{
    return bound_of(call, impl, out_index, true);
}
