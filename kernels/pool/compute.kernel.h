/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What poolings compute of a window: POOL_MEAN, from the plan, says whether the mean or the
 * largest, or a NaN; how it walks is a schedule's business. The body of another pooling brings
 * POOL_START, fold and fold1 of its own, in front of a schedule.
 */
#include "kernels/pool/body.kernel.h"

#ifndef POOL_START
#if POOL_MEAN /* the result is divided by what the window counts */

#define POOL_START ((DTYPE)0)

INLINE vec fold(vec acc, vec x)
{
    return acc + x;
}

INLINE DTYPE fold1(DTYPE acc, DTYPE x)
{
    return acc + x;
}

#else

#define POOL_START ((DTYPE)-__builtin_inff())

INLINE vec fold(vec acc, vec x)
{
    return vec_most(x, acc);
}

INLINE DTYPE fold1(DTYPE acc, DTYPE x)
{
    return (x > acc) | (x != x) ? x : acc;
}

#endif
#endif
