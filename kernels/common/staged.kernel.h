/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU bodies: a run of memory of STAGED_T is copied to shared memory, or from there, by all
 * THREADS of a block, 64 at least, in vectors of 16 bytes, STAGED_V elements, whatever the run's
 * own alignment. On CUDA all that comes is under way at once and passes through no register.
 */
#ifndef OPTUNE_KERNELS_COMMON_STAGED_H
#define OPTUNE_KERNELS_COMMON_STAGED_H

#include "kernels/common/gpu.kernel.h"
#include "kernels/common/mma_gpu.kernel.h"

#ifdef CP_ASYNC_WAIT /* CUDA has it */
#define STAGED_ASYNC 1
#else
#define STAGED_ASYNC 0
#endif
#define STAGED_AT_ONCE 4 /* vectors of a thread under way, where they pass through registers */

VECTOR(staged_vec, STAGED_T, STAGED_V);

/* Elements that the run's first lies behind a vector's begin, of a run that begins `from` elements
 * behind an aligned place. */
#define STAGED_SKIP(from) ((int)((from) % STAGED_V))
/* Vectors that are wholly in the run: from this one, to the one before that. */
#define STAGED_FIRST(skip) CEIL_DIV(skip, STAGED_V)
#define STAGED_LAST(skip, n) (((skip) + (n)) / STAGED_V)
/* Bytes of the pool for runs of up to n. */
#define STAGED_ROOM(n) ((CEIL_DIV(n, STAGED_V) + 1) * STAGED_V * (int)sizeof(STAGED_T))

/* pool[skip + i] = run[i] for the n elements of a run. A barrier must follow. */
INLINE void stage(LOCAL STAGED_T *pool, GLOBAL const STAGED_T *run, const int skip, const int n,
                  const int t)
{
    GLOBAL const STAGED_T *const from = run - skip;
    const int first = STAGED_FIRST(skip), last = STAGED_LAST(skip, n);
    const int head = MIN(first * STAGED_V, skip + n);
    /* Less than a vector at each end. */
    const int behind = MAX(last * STAGED_V, head) + t;
#if STAGED_ASYNC
    UNROLL_BY(4)
    for (int c = first + t; c < last; c += THREADS)
        cp_async_16(pool + c * STAGED_V, from + c * STAGED_V);
    cp_async_commit();
#else
    UNROLL_BY(1)
    for (int c = first + t; c < last; c += STAGED_AT_ONCE * THREADS) {
        staged_vec v[STAGED_AT_ONCE];
        UNROLL
        for (int u = 0; u < STAGED_AT_ONCE; u++) /* no branch: all of them leave at once */
            v[u] =
                *(GLOBAL const staged_vec *)(from + MIN(c + u * THREADS, last - 1) * STAGED_V);
        UNROLL
        for (int u = 0; u < STAGED_AT_ONCE; u++)
            if (c + u * THREADS < last)
                *(LOCAL staged_vec *)(pool + (c + u * THREADS) * STAGED_V) = v[u];
    }
#endif
    if (skip + t < head)
        pool[skip + t] = from[skip + t];
    if (behind < skip + n)
        pool[behind] = from[behind];
#if STAGED_ASYNC
    CP_ASYNC_WAIT(0);
#endif
}

/* The same in the other direction: run[i] = pool[skip + i]. A barrier must come before. */
INLINE void unstage(GLOBAL STAGED_T *run, LOCAL const STAGED_T *pool, const int skip, const int n,
                    const int t)
{
    GLOBAL STAGED_T *const to = run - skip;
    const int first = STAGED_FIRST(skip), last = STAGED_LAST(skip, n);
    const int head = MIN(first * STAGED_V, skip + n);
    const int behind = MAX(last * STAGED_V, head) + t;
    UNROLL_BY(4)
    for (int c = first + t; c < last; c += THREADS) {
        const staged_vec v = *(LOCAL const staged_vec *)(pool + c * STAGED_V);
        STORE_VECTOR((GLOBAL staged_vec *)(to + c * STAGED_V), v);
    }
    if (skip + t < head)
        to[skip + t] = pool[skip + t];
    if (behind < skip + n)
        to[behind] = pool[behind];
}

#endif
