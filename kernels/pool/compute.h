/* SPDX-License-Identifier: Apache-2.0 */
/* What max_pool2d computes, the largest, or a NaN; how it walks is a schedule's business. */
#include "kernels/pool/body.h"

#define POOL_START ((DTYPE)-__builtin_inff())
#define POOL_MEAN 0 /* the result is divided by what the window counts */

INLINE vec fold(vec acc, vec x)
{
    return vec_most(x, acc);
}

INLINE DTYPE fold1(DTYPE acc, DTYPE x)
{
    return (x > acc) | (x != x) ? x : acc;
}
