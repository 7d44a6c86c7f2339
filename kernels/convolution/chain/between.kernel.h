/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands between the two convolutions of pointwise_depthwise_conv2d, on vectors. BETWEEN, from
 * the plan, is a number of chain_between in chain.h.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_BETWEEN_H
#define OPTUNE_KERNELS_CONVOLUTION_BETWEEN_H

#include "kernels/common/exp.kernel.h"

/* a < b ? a : b: b where either is a NaN. */
INLINE vec lower(vec a, vec b)
{
#if defined(__AVX512F__) && VEC_BYTES == 64
    typedef float singles __attribute__((vector_size(64)));
    typedef double doubles __attribute__((vector_size(64)));
    return sizeof(DTYPE) == 4
               ? (vec)__builtin_ia32_minps512_mask((singles)a, (singles)b, (singles)a, -1, 4)
               : (vec)__builtin_ia32_minpd512_mask((doubles)a, (doubles)b, (doubles)a, -1, 4);
#else
    return -vec_max(-a, -b);
#endif
}

INLINE vec activated(vec x)
{
#if BETWEEN == 1
    return vec_max((vec){0}, x);
#elif BETWEEN == 2
    return lower(splat(6), vec_max((vec){0}, x));
#elif BETWEEN == 3
    const vec gate = x * (DTYPE)(1.0 / 6) + (DTYPE)0.5;
    return x * lower(splat(1), vec_max((vec){0}, gate));
#elif BETWEEN == 4
    /* 1 / (1 + exp(-|x|)), or that times the exponential below 0. */
    const vec less = vec_exp(lower(x, -x));
    const exp_vec negative = x < 0;
    const vec top = (vec)((negative & (exp_vec)(x * less)) | (~negative & (exp_vec)x));
    return top / (less + (DTYPE)1);
#else
    return x;
#endif
}

#endif
