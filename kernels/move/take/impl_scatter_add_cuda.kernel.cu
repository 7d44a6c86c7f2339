/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter_add on CUDA: out becomes data, then updates of [OUTER][COUNT][INNER] are added to lines
 * of N, by whoever comes: sums of floats have no order. A thread has EACH of them, a block's width
 * apart. Slab `s` has OUTERS of the outer lines and WIDTH of the inner ones, ACROSS beside each
 * other: a step copies one and adds to the one before.
 *
 * Macros: TYPE (of adds_gpu.kernel.h), STORED SCALAR VALUE_OF, PLACE (an index's type), INDEX,
 * ELEMENTS OUTER N INNER COUNT OUTERS WIDTH ACROSS, COPYING ADDING (blocks of a slab), THREADS
 * EACH.
 */
#include "kernels/common/adds_gpu.kernel.h"
#include "kernels/common/looked_up.kernel.h"

enum { V = 16 / sizeof(STORED) };

VECTOR(vec, STORED, V);

/* What is read once should not drive out of the cache what is added to. */
#ifdef OT_CUDA
#define LOAD_ONCE(p) __ldcs(p)
INLINE vec load_once(const vec *p)
{
    union {
        uint4 words;
        vec x;
    } y;
    y.words = __ldcs((const uint4 *)p);
    return y.x;
}
#else
#define LOAD_ONCE(p) (*(p))
#define load_once(p) (*(p))
#endif

/* Outer lines of a slab. */
INLINE INDEX outers_of(const INDEX s)
{
    return MIN((INDEX)OUTERS, (INDEX)OUTER - s / ACROSS * OUTERS);
}

/* Whether a slab has a vector `i`, and which one of out it is. */
INLINE bool vector_of(const INDEX s, const INDEX i, INDEX *at)
{
#if ACROSS > 1
    const INDEX row = i / (WIDTH / V), column = s % ACROSS * (WIDTH / V) + i % (WIDTH / V);
    *at = (s / ACROSS * OUTERS * N + row) * (INNER / V) + column;
    return row < outers_of(s) * N && column < INNER / V;
#else
    *at = s * OUTERS * N * INNER / V + i;
    return i < outers_of(s) * N * INNER / V;
#endif
}

INLINE void copy_slab(GLOBAL const STORED *RESTRICT data, GLOBAL STORED *out, const INDEX s,
                      const INDEX block)
{
    const INDEX first = block * (THREADS * EACH) + THREAD_X;
    vec x[EACH];
    INDEX at;
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (vector_of(s, first + e * THREADS, &at))
            x[e] = load_once((GLOBAL const vec *)data + at);
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (vector_of(s, first + e * THREADS, &at))
            STORE_VECTOR((GLOBAL vec *)out + at, x[e]);
    if (s / ACROSS == (OUTER - 1) / OUTERS && block == 0 && THREAD_X < ELEMENTS % V)
        out[ELEMENTS / V * V + THREAD_X] = data[ELEMENTS / V * V + THREAD_X];
}

/* Whether a slab has an update `i`, which one it is and for which line. */
INLINE bool update_of(const INDEX s, const INDEX i, INDEX *at, INDEX *outer, INDEX *inner)
{
    const INDEX row = i / WIDTH;
    *inner = s % ACROSS * WIDTH + i % WIDTH;
    *outer = s / ACROSS * OUTERS + row / COUNT;
    *at = (s / ACROSS * OUTERS * COUNT + row) * INNER + *inner;
    return row < outers_of(s) * COUNT && *inner < INNER;
}

INLINE void add_slab(GLOBAL const PLACE *RESTRICT indices, GLOBAL const STORED *RESTRICT updates,
                     GLOBAL STORED *out, const INDEX s, const INDEX block)
{
    const INDEX first = block * (THREADS * EACH) + THREAD_X;
    PLACE place[EACH];
    STORED update[EACH];
    INDEX at, outer, inner;
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (update_of(s, first + e * THREADS, &at, &outer, &inner)) {
            place[e] = LOAD_ONCE(indices + at);
            update[e] = LOAD_ONCE(updates + at);
        }
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (update_of(s, first + e * THREADS, &at, &outer, &inner)) {
            const i64 row = place_of((i64)place[e], N);
            const SCALAR v = (SCALAR)VALUE_OF(update[e]);
            GLOBAL_ADD(TYPE, out, ELEMENTS, ((i64)outer * N + row) * INNER + inner, v);
        }
}

#define PARAMETERS                                                                             \
    GLOBAL const STORED *RESTRICT data, GLOBAL const PLACE *RESTRICT indices,                  \
        GLOBAL const STORED *RESTRICT updates, GLOBAL STORED *out, i64 slab

KERNEL(THREADS, 1, 1)
copy(PARAMETERS)
{
    copy_slab(data, out, (INDEX)slab, BLOCK_X);
}

KERNEL(THREADS, 1, 1)
add(PARAMETERS)
{
    add_slab(indices, updates, out, (INDEX)slab - 1, BLOCK_X);
}

/* Both take turns as long as there are both. */
KERNEL(THREADS, 1, 1)
step(PARAMETERS)
{
    const INDEX block = BLOCK_X, both = MIN(COPYING, ADDING);
    const bool mixed = block < 2 * both;
    const INDEX i = mixed ? block / 2 : block - both;
    if (mixed ? block % 2 == 0 : COPYING > ADDING)
        copy_slab(data, out, (INDEX)slab, i);
    else
        add_slab(indices, updates, out, (INDEX)slab - 1, i);
}
