/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COUNT lines of LENGTH values: a block has ALONG threads of V values along a line and ACROSS
 * of them take every ACROSS-th line, AT_ONCE in flight. With PARTS a block takes a part of the
 * lines.
 */
#include "kernels/reduce/reduce_body_gpu.kernel.h"

VECTOR(vec, IN_T, V);

KERNEL(ALONG, ACROSS, 1)
reduce(GLOBAL const IN_T *RESTRICT in, GLOBAL MADE *RESTRICT out)
{
    SHARED(reduce_pool, ALONG * ACROSS * V * sizeof(SCALAR));
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)reduce_pool;
    const int x = THREAD_X, y = THREAD_Y;
    const int part = BLOCK_X / (TILES * OUTER);
    const INDEX k = (INDEX)(BLOCK_X / TILES % OUTER);
    const INDEX at = ((INDEX)(BLOCK_X % TILES) * ALONG + x) * V;
    const INDEX from = (INDEX)((i64)COUNT * part / PARTS);
    const INDEX to = (INDEX)((i64)COUNT * (part + 1) / PARTS);
    SCALAR sum[V];
    UNROLL
    for (int l = 0; l < V; l++)
        sum[l] = (SCALAR)(IDENTITY);
    if (at < LENGTH) {
        GLOBAL const IN_T *const base = in + KEPT_OFFSET + at;
        INDEX r = from + y;
        for (; r + (AT_ONCE - 1) * ACROSS < to; r += AT_ONCE * ACROSS) {
            vec v[AT_ONCE];
            UNROLL
            for (int u = 0; u < AT_ONCE; u++) {
                const INDEX i = r + u * ACROSS;
                v[u] = *(GLOBAL const vec *)(base + LINE_OFFSET);
            }
            UNROLL
            for (int u = 0; u < AT_ONCE; u++) {
                UNROLL
                for (int l = 0; l < V; l++)
                    sum[l] = combine(sum[l], map((SCALAR)IN_OF(v[u].v[l])));
            }
        }
        if (r < to) { /* what is left is in flight at once, too: lines behind it are the last */
            vec v[AT_ONCE];
            UNROLL
            for (int u = 0; u < AT_ONCE; u++) {
                const INDEX i = MIN(r + u * ACROSS, to - 1);
                v[u] = *(GLOBAL const vec *)(base + LINE_OFFSET);
            }
            UNROLL
            for (int u = 0; u < AT_ONCE; u++) {
                UNROLL
                for (int l = 0; l < V; l++) {
                    const SCALAR more = combine(sum[l], map((SCALAR)IN_OF(v[u].v[l])));
                    sum[l] = r + u * ACROSS < to ? more : sum[l];
                }
            }
        }
    }
    UNROLL
    for (int l = 0; l < V; l++)
        pool[(y * V + l) * ALONG + x] = sum[l];
#if ACROSS > 1
    BARRIER();
    UNROLL_BY(1)
    for (int reach = ACROSS / 2; reach > 0; reach /= 2) {
        if (y < reach) {
            UNROLL
            for (int l = 0; l < V; l++) {
                LOCAL SCALAR *const a = pool + (y * V + l) * ALONG + x;
                *a = combine(*a, a[reach * V * ALONG]);
            }
        }
        BARRIER();
    }
#endif
    if (at < LENGTH && y == 0) {
        GLOBAL MADE *const to_here = out + part * (i64)OUTPUTS + k * (i64)LENGTH + at;
        UNROLL
        for (int l = 0; l < V; l++)
            to_here[l] = MAKE(pool[l * ALONG + x]);
    }
}
