/* SPDX-License-Identifier: Apache-2.0 */
/* What avg_pool2d computes, the mean; how it walks is a schedule's business. */
#include "kernels/pool/body.h"

#define POOL_START ((DTYPE)0)
#define POOL_MEAN 1 /* the result is divided by what the window counts */

INLINE vec fold(vec acc, vec x)
{
    return acc + x;
}

INLINE DTYPE fold1(DTYPE acc, DTYPE x)
{
    return acc + x;
}
