/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EXPRESSION over OPERANDS operands: EACH vectors of V elements a thread, a block's width
 * apart, all of them loaded before the first is used. An operand whose inner stride is 0 has
 * one value for a vector. ELEMENTS is a multiple of V, and a vector never crosses a row.
 */
#include "kernels/common/scalar_gpu.kernel.h"

#define CHUNKS (ELEMENTS / V)

VECTOR(vec_out, OUT_T, V);

#define OPERAND(k)                                                                             \
    VECTOR(vec_x##k, X##k##_T, V);                                                             \
    INLINE vec_x##k fetch##k(GLOBAL const X##k##_T *RESTRICT from, INDEX i)                    \
    {                                                                                          \
        const INDEX at = X##k##_OFFSET;                                                        \
        vec_x##k v;                                                                            \
        if (X##k##_INNER == 0) {                                                               \
            const X##k##_T one = from[at];                                                     \
            UNROLL                                                                             \
            for (int l = 0; l < V; l++)                                                        \
                v.v[l] = one;                                                                  \
        } else {                                                                               \
            v = *(GLOBAL const vec_x##k *)(from + at);                                         \
        }                                                                                      \
        return v;                                                                              \
    }
#define PARAMETER(k) , GLOBAL const X##k##_T *RESTRICT from##k
#define HELD(k) vec_x##k held##k[EACH];
#define FETCH(k) held##k[e] = fetch##k(from##k, i);
#define VALUE(k) const X##k##_V x##k = (X##k##_V)X##k##_OF(held##k[e].v[l]);

#if OPERANDS == 1
#define ALL(what) what(0)
#elif OPERANDS == 2
#define ALL(what) what(0) what(1)
#elif OPERANDS == 3
#define ALL(what) what(0) what(1) what(2)
#else
#define ALL(what) what(0) what(1) what(2) what(3)
#endif

ALL(OPERAND)

KERNEL(THREADS, 1, 1)
broadcast(GLOBAL OUT_T *RESTRICT out ALL(PARAMETER))
{
    const INDEX first = (INDEX)BLOCK_X * (EACH * THREADS) + THREAD_X;
    ALL(HELD)
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const INDEX c = first + e * THREADS, i = c * V;
        if (c < CHUNKS) {
            ALL(FETCH)
        }
    }
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const INDEX c = first + e * THREADS;
        if (c < CHUNKS) {
            vec_out v;
            UNROLL
            for (int l = 0; l < V; l++) {
                ALL(VALUE)
                v.v[l] = RESULT(EXPRESSION);
            }
            STORE_VECTOR((GLOBAL vec_out *)(out + c * V), v);
        }
    }
}
