/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COUNT values of each of OUTPUTS results, in vectors of V along the input: a team of ROW_TEAM
 * threads takes one result, AT_ONCE vectors in flight, the team's width apart. With PARTS a
 * block takes a part of the values.
 */
#include "kernels/reduce/reduce_body_gpu.kernel.h"

#define VECTORS (COUNT / V)
#define ROWS (THREADS / ROW_TEAM)

VECTOR(vec, IN_T, V);

KERNEL(THREADS, 1, 1)
reduce(GLOBAL const IN_T *RESTRICT in, GLOBAL MADE *RESTRICT out)
{
    SHARED(reduce_pool, THREADS * sizeof(SCALAR));
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)reduce_pool;
    const int t = THREAD_X, lane = t % ROW_TEAM;
    const int part = BLOCK_X / ROW_BLOCKS;
    const INDEX k = (INDEX)(BLOCK_X % ROW_BLOCKS) * ROWS + t / ROW_TEAM;
    const INDEX from = (INDEX)((i64)VECTORS * part / PARTS);
    const INDEX to = (INDEX)((i64)VECTORS * (part + 1) / PARTS);
    SCALAR sum[V];
    UNROLL
    for (int l = 0; l < V; l++)
        sum[l] = (SCALAR)(IDENTITY);
    if (k < OUTPUTS) {
        GLOBAL const IN_T *const row = in + KEPT_OFFSET;
        INDEX c = from + lane;
        for (; c + (AT_ONCE - 1) * ROW_TEAM < to; c += AT_ONCE * ROW_TEAM) {
            vec v[AT_ONCE];
            UNROLL
            for (int u = 0; u < AT_ONCE; u++) {
                const INDEX i = (c + u * ROW_TEAM) * V;
                v[u] = *(GLOBAL const vec *)(row + REDUCED_OFFSET);
            }
            UNROLL
            for (int u = 0; u < AT_ONCE; u++) {
                UNROLL
                for (int l = 0; l < V; l++)
                    sum[l] = combine(sum[l], map((SCALAR)IN_OF(v[u].v[l])));
            }
        }
        for (; c < to; c += ROW_TEAM) {
            const INDEX i = c * V;
            const vec v = *(GLOBAL const vec *)(row + REDUCED_OFFSET);
            UNROLL
            for (int l = 0; l < V; l++)
                sum[l] = combine(sum[l], map((SCALAR)IN_OF(v.v[l])));
        }
    }
    UNROLL
    for (int l = 1; l < V; l++)
        sum[0] = combine(sum[0], sum[l]);
    pool[t] = sum[0];
    tree(pool, t, lane, ROW_TEAM, 1);
    if (k < OUTPUTS && lane == 0)
        out[part * (i64)OUTPUTS + k] = MAKE(pool[t]);
}
