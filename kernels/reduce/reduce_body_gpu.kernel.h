/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU bodies of reductions share: the op's expressions, the tree that combines what
 * threads hold, and joining the parts that blocks reduced separately.
 */
#ifndef OPTUNE_KERNELS_REDUCE_BODY_GPU_H
#define OPTUNE_KERNELS_REDUCE_BODY_GPU_H

#include "kernels/common/scalar_gpu.kernel.h"
#include "kernels/reduce/expressions.kernel.h"

/* What the first stage writes for one output: the result, or with parts what is joined later. */
#if PARTS > 1
#define MADE SCALAR
#define MAKE(x) (x)
#else
#define MADE OUT_T
#define MAKE(x) finish(x)
#endif

/* Every thread of the block comes here: value `at` of the pool takes those `step` apart, `n` (a
 * power of two) of them, of which this thread's is number `lane`. */
INLINE void tree(LOCAL SCALAR *pool, int at, int lane, int n, int step)
{
    BARRIER();
    UNROLL_BY(1)
    for (int reach = n / 2; reach > 0; reach /= 2) {
        if (lane < reach)
            pool[at] = combine(pool[at], pool[at + reach * step]);
        BARRIER();
    }
}

#if PARTS > 1
KERNEL(JOINING, 1, 1)
join(GLOBAL const SCALAR *RESTRICT in, GLOBAL OUT_T *RESTRICT out)
{
    SHARED(join_pool, JOINING * sizeof(SCALAR));
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)join_pool;
    const int t = THREAD_X, lane = t % TEAM;
    const i64 k = (i64)BLOCK_X * (JOINING / TEAM) + t / TEAM;
    SCALAR sum = (SCALAR)(IDENTITY);
    if (k < OUTPUTS)
        for (int p = lane; p < PARTS; p += TEAM)
            sum = combine(sum, in[p * (i64)OUTPUTS + k]);
    pool[t] = sum;
    tree(pool, t, lane, TEAM, 1);
    if (k < OUTPUTS && lane == 0)
        out[k] = finish(pool[t]);
}
#endif

#endif
