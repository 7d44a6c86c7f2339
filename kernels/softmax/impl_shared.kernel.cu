/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OUTER rows of AXIS elements, a block for each, which holds its row in shared memory: memory is
 * read once. With KEEP exponentials take the place of the elements, else, where they would be
 * rounded, they are computed twice. Around the row lies what adds nothing, up to whole vectors.
 */
#include "kernels/common/scalar_gpu.kernel.h"
#include "kernels/common/team.kernel.h"

#define STAGED_T OUT_T
#include "kernels/common/staged.kernel.h"

#define V STAGED_V
#define PLUS(a, b) ((a) + (b))
#define WHOLE (AXIS % V == 0) /* every row is whole vectors */

VECTOR(vec, SCALAR, V);

INLINE vec held(LOCAL const OUT_T *pool, const int c)
{
    const staged_vec x = *(LOCAL const staged_vec *)(pool + c * V);
    vec v;
    UNROLL
    for (int l = 0; l < V; l++)
        v.v[l] = (SCALAR)IN_OF(x.v[l]);
    return v;
}

INLINE staged_vec stored(const vec x)
{
    staged_vec y;
    UNROLL
    for (int l = 0; l < V; l++)
        y.v[l] = RESULT(x.v[l]);
    return y;
}

INLINE vec exponentials(vec x, const SCALAR shift)
{
    UNROLL
    for (int l = 0; l < V; l++)
        x.v[l] = s_exp(x.v[l] - shift);
    return x;
}

KERNEL_RESIDENT(THREADS, 1, 1, RESIDENT)
softmax(GLOBAL const OUT_T *RESTRICT in, GLOBAL OUT_T *RESTRICT out)
{
    SHARED(shared, STAGED_ROOM(AXIS) + THREADS * sizeof(SCALAR));
    LOCAL OUT_T *const row = (LOCAL OUT_T *)shared;
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)(shared + STAGED_ROOM(AXIS));
    const int t = THREAD_X;
    const INDEX at = (INDEX)BLOCK_X * AXIS;
    const int skip = WHOLE ? 0 : STAGED_SKIP(at), end = skip + AXIS, vectors = CEIL_DIV(end, V);
    SCALAR most = s_lowest, sum = 0;
    if (t < skip)
        row[t] = RESULT(s_lowest);
    if (t < vectors * V - end)
        row[end + t] = RESULT(s_lowest);
    stage(row, in + at, skip, AXIS, t);
    BARRIER();
    UNROLL_BY(4)
    for (int c = t; c < vectors; c += THREADS) {
        const vec x = held(row, c);
        UNROLL
        for (int l = 0; l < V; l++)
            most = s_max(most, x.v[l]);
    }
    TEAM_COMBINE(pool, t, t, THREADS, 1, s_max, most);
    UNROLL_BY(2)
    for (int c = t; c < vectors; c += THREADS) {
        const vec x = exponentials(held(row, c), most);
        UNROLL
        for (int l = 0; l < V; l++)
            sum += x.v[l];
#if KEEP
        *(LOCAL staged_vec *)(row + c * V) = stored(x);
#endif
    }
    TEAM_COMBINE(pool, t, t, THREADS, 1, PLUS, sum);
    const SCALAR share = (SCALAR)1 / sum;
    GLOBAL OUT_T *const to = out + at - skip;
    UNROLL_BY(2)
    for (int c = t; c < vectors; c += THREADS) {
        vec x = held(row, c);
#if !KEEP
        x = exponentials(x, most);
#endif
        UNROLL
        for (int l = 0; l < V; l++)
            x.v[l] *= share;
        const staged_vec y = stored(x);
        if (WHOLE || (c >= STAGED_FIRST(skip) && c < STAGED_LAST(skip, AXIS))) {
            STORE_VECTOR((GLOBAL staged_vec *)(to + c * V), y);
        } else {
            UNROLL
            for (int l = 0; l < V; l++)
                if (c * V + l >= skip && c * V + l < end)
                    to[c * V + l] = y.v[l];
        }
    }
}
