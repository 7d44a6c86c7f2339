/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter_add on CUDA: out becomes data, then updates of [...][COUNT][INNER] are added to lines of
 * N, by whoever comes: sums of floats have no order. A thread has EACH of them, a block's width
 * apart.
 *
 * Macros: TYPE (of adds_gpu.kernel.h), STORED SCALAR VALUE_OF, PLACE (an index's type), INDEX,
 * ELEMENTS UPDATES N INNER COUNT THREADS EACH.
 */
#include "kernels/common/adds_gpu.kernel.h"

enum { V = 16 / sizeof(STORED) };

VECTOR(vec, STORED, V);

KERNEL(THREADS, 1, 1)
copy(GLOBAL const STORED *RESTRICT data, GLOBAL STORED *RESTRICT out)
{
    const INDEX first = (INDEX)BLOCK_X * (THREADS * EACH) + THREAD_X;
    vec x[EACH];
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (first + e * THREADS < ELEMENTS / V)
            x[e] = ((GLOBAL const vec *)data)[first + e * THREADS];
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (first + e * THREADS < ELEMENTS / V)
            STORE_VECTOR((GLOBAL vec *)out + first + e * THREADS, x[e]);
    if (BLOCK_X == 0 && THREAD_X < ELEMENTS % V)
        out[ELEMENTS / V * V + THREAD_X] = data[ELEMENTS / V * V + THREAD_X];
}

KERNEL(THREADS, 1, 1)
add(GLOBAL const PLACE *RESTRICT indices, GLOBAL const STORED *RESTRICT updates,
    GLOBAL STORED *out)
{
    const INDEX first = (INDEX)BLOCK_X * (THREADS * EACH) + THREAD_X;
    PLACE place[EACH];
    STORED update[EACH];
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (first + e * THREADS < UPDATES) {
            place[e] = indices[first + e * THREADS];
            update[e] = updates[first + e * THREADS];
        }
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const INDEX at = first + e * THREADS;
        if (at < UPDATES) {
            const i64 counted = place[e] < 0 ? (i64)place[e] + N : (i64)place[e];
            const i64 row = counted < 0 ? 0 : MIN(counted, (i64)N - 1);
            const SCALAR v = (SCALAR)VALUE_OF(update[e]);
            GLOBAL STORED *const to =
                out + ((i64)(at / INNER / COUNT) * N + row) * INNER + at % INNER;
            GLOBAL_ADD(TYPE, to, v);
        }
    }
}
