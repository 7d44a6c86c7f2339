/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OUTER rows of AXIS elements, TEAM threads for each, vectors of V. With HELD a thread keeps
 * its HELD vectors in registers. NaN and infinities need no code: the largest is NaN where an
 * element is, and infinity minus infinity is one.
 */
#include "kernels/common/scalar_gpu.kernel.h"
#include "kernels/common/team.kernel.h"

#define VECTORS (AXIS / V)
#define ROWS (THREADS / TEAM)
#define PLUS(a, b) ((a) + (b))

VECTOR(vec, SCALAR, V);
VECTOR(vec_stored, OUT_T, V);

INLINE vec fetch(GLOBAL const OUT_T *from)
{
    const vec_stored x = *(GLOBAL const vec_stored *)from;
    vec v;
    UNROLL
    for (int l = 0; l < V; l++)
        v.v[l] = (SCALAR)IN_OF(x.v[l]);
    return v;
}

#define EXPONENTIALS(x, sum)                                                                   \
    UNROLL                                                                                     \
    for (int l = 0; l < V; l++) {                                                              \
        x.v[l] = s_exp(x.v[l] - shift);                                                        \
        sum += x.v[l];                                                                         \
    }

INLINE SCALAR largest(SCALAR most, const vec x)
{
    UNROLL
    for (int l = 0; l < V; l++)
        most = s_max(most, x.v[l]);
    return most;
}

INLINE void store(GLOBAL OUT_T *to, const vec x, const SCALAR share)
{
    vec_stored y;
    UNROLL
    for (int l = 0; l < V; l++)
        y.v[l] = RESULT(x.v[l] * share);
    STORE_VECTOR((GLOBAL vec_stored *)to, y);
}

#if HELD

KERNEL(THREADS, 1, 1)
softmax(GLOBAL const OUT_T *RESTRICT in, GLOBAL OUT_T *RESTRICT out)
{
    SHARED(shared, THREADS * sizeof(SCALAR));
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)shared;
    const int t = THREAD_X, lane = t % TEAM;
    const i64 row = (i64)BLOCK_X * ROWS + t / TEAM;
    const INDEX at = (INDEX)row * AXIS + lane * V;
    SCALAR shift = s_lowest, sum = 0;
    vec held[HELD];
    if (row < OUTER) {
        UNROLL
        for (int h = 0; h < HELD; h++)
            if (lane + h * TEAM < VECTORS) {
                held[h] = fetch(in + at + h * (TEAM * V));
                shift = largest(shift, held[h]);
            }
    }
    TEAM_COMBINE(pool, t, lane, TEAM, 1, s_max, shift);
    if (row < OUTER) {
        UNROLL
        for (int h = 0; h < HELD; h++)
            if (lane + h * TEAM < VECTORS) {
                EXPONENTIALS(held[h], sum)
            }
    }
    TEAM_COMBINE(pool, t, lane, TEAM, 1, PLUS, sum);
    const SCALAR share = (SCALAR)1 / sum;
    if (row < OUTER) {
        UNROLL
        for (int h = 0; h < HELD; h++)
            if (lane + h * TEAM < VECTORS)
                store(out + at + h * (TEAM * V), held[h], share);
    }
}

#else

#define AT_ONCE (V >= 4 ? 2 : 8 / V) /* vectors that are on their way */
#define STEP (AT_ONCE * TEAM)

/* Behind the last vector lies what adds nothing. */
INLINE void fetch_some(GLOBAL const OUT_T *row, const int c, vec x[AT_ONCE])
{
    UNROLL
    for (int a = 0; a < AT_ONCE; a++) {
        UNROLL
        for (int l = 0; l < V; l++)
            x[a].v[l] = s_lowest;
        if (c + a * TEAM < VECTORS)
            x[a] = fetch(row + (c + a * TEAM) * V);
    }
}

/* A row is read twice: for its largest and, less what was largest so far, the sum at once. */
KERNEL(THREADS, 1, 1)
softmax(GLOBAL const OUT_T *RESTRICT in, GLOBAL OUT_T *RESTRICT out)
{
    SHARED(shared, THREADS * sizeof(SCALAR));
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)shared;
    const int t = THREAD_X, lane = t % TEAM;
    const i64 row = (i64)BLOCK_X * ROWS + t / TEAM;
    const INDEX at = (INDEX)row * AXIS;
    SCALAR most = s_lowest, sum = 0;
    vec x[AT_ONCE];
    if (row < OUTER) {
        UNROLL_BY(1)
        for (int c = lane; c < VECTORS; c += STEP) {
            const SCALAR before = most;
            fetch_some(in + at, c, x);
            UNROLL
            for (int a = 0; a < AT_ONCE; a++)
                most = largest(most, x[a]);
            /* Infinity less infinity is no number: what is none yet is no shift. */
            const SCALAR shift = most == s_lowest ? (SCALAR)0 : most;
            sum *= s_exp(before - shift);
            UNROLL
            for (int a = 0; a < AT_ONCE; a++) {
                EXPONENTIALS(x[a], sum)
            }
        }
    }
    const SCALAR own = most;
    TEAM_COMBINE(pool, t, lane, TEAM, 1, s_max, most);
    sum *= s_exp(own - (most == s_lowest ? (SCALAR)0 : most));
    TEAM_COMBINE(pool, t, lane, TEAM, 1, PLUS, sum);
    const SCALAR share = (SCALAR)1 / sum, shift = most;
    if (row < OUTER) {
        UNROLL_BY(1)
        for (int c = lane; c < VECTORS; c += STEP) {
            fetch_some(in + at, c, x);
            UNROLL
            for (int a = 0; a < AT_ONCE; a++)
                if (c + a * TEAM < VECTORS) {
                    SCALAR rest = 0;
                    EXPONENTIALS(x[a], rest)
                    store(out + at + (c + a * TEAM) * V, x[a], share);
                }
        }
    }
}

#endif
