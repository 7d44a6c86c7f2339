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

/* `what` for every vector `v` of the row that is this thread's. */
#if HELD
#define EACH(what)                                                                             \
    UNROLL                                                                                     \
    for (int h = 0; h < HELD; h++) {                                                           \
        const int c = lane + h * TEAM;                                                         \
        if (c < VECTORS) {                                                                     \
            what(held[h], c)                                                                   \
        }                                                                                      \
    }
#define FIRST(v, c)                                                                            \
    v = fetch(in + (INDEX)row * AXIS + c * V);                                                 \
    MOST(v, c)
#else
#define EACH(what)                                                                             \
    for (int c = lane; c < VECTORS; c += TEAM) {                                               \
        vec v = fetch(in + (INDEX)row * AXIS + c * V);                                         \
        what(v, c)                                                                             \
    }
#define FIRST(v, c) MOST(v, c)
#endif
#define MOST(x, c)                                                                             \
    UNROLL                                                                                     \
    for (int l = 0; l < V; l++)                                                                \
        most = s_max(most, x.v[l]);
#define RAISE(x, c)                                                                            \
    UNROLL                                                                                     \
    for (int l = 0; l < V; l++) {                                                              \
        x.v[l] = s_exp(x.v[l] - most);                                                         \
        sum += x.v[l];                                                                         \
    }
#define STORE(x, c)                                                                            \
    vec_stored to;                                                                             \
    UNROLL                                                                                     \
    for (int l = 0; l < V; l++)                                                                \
        to.v[l] = RESULT((HELD ? x.v[l] : s_exp(x.v[l] - most)) * share);                      \
    STORE_VECTOR((GLOBAL vec_stored *)(out + (INDEX)row * AXIS + c * V), to);

KERNEL(THREADS, 1, 1)
softmax(GLOBAL const OUT_T *RESTRICT in, GLOBAL OUT_T *RESTRICT out)
{
    SHARED(shared, THREADS * sizeof(SCALAR));
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)shared;
    const int t = THREAD_X, lane = t % TEAM;
    const i64 row = (i64)BLOCK_X * ROWS + t / TEAM;
    SCALAR most = s_lowest, sum = 0;
#if HELD
    vec held[HELD];
#endif
    if (row < OUTER) {
        EACH(FIRST)
    }
    TEAM_COMBINE(pool, t, lane, TEAM, 1, s_max, most);
    if (row < OUTER) {
        EACH(RAISE)
    }
    TEAM_COMBINE(pool, t, lane, TEAM, 1, PLUS, sum);
    const SCALAR share = (SCALAR)1 / sum;
    if (row < OUTER) {
        EACH(STORE)
    }
}
