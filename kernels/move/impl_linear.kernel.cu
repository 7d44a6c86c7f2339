/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves with threads along the output: EACH vectors of V elements, a block's width apart, all
 * loaded before one is stored. From the plan: COORDINATES, those of element `o` and `more` behind
 * it in its row; CHOOSEn, which makes `x` what lies there if that is in piece n. TURNS: rows end
 * within vectors.
 *
 * Macros: ELEMENT INDEX INPUTS PIECES ELEMENTS THREADS V EACH.
 */
#include "kernels/common/gpu.kernel.h"
#include "kernels/common/times.kernel.h"

#define INPUT(k) , GLOBAL const ELEMENT *RESTRICT in##k

#define CHOOSE_OF(k) CHOOSE##k

VECTOR(vec, ELEMENT, V);

KERNEL(THREADS, 1, 1)
move(GLOBAL ELEMENT *RESTRICT out TIMES(INPUTS, INPUT))
{
    const INDEX thread = (INDEX)BLOCK_X * (EACH * THREADS) + THREAD_X;
    vec held[EACH];
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const INDEX first = (thread + e * THREADS) * V;
        UNROLL
        for (int l = 0; l < V; l++) {
            ELEMENT x = 0;
            if (first + (ELEMENTS % V ? l : 0) < ELEMENTS) {
                const INDEX o = first + (TURNS ? l : 0), more = TURNS ? 0 : l;
                COORDINATES
                TIMES(PIECES, CHOOSE_OF)
            }
            held[e].v[l] = x;
        }
    }
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const INDEX first = (thread + e * THREADS) * V;
        if (ELEMENTS % V == 0 ? first < ELEMENTS : first + V <= ELEMENTS) {
            STORE_VECTOR((GLOBAL vec *)(out + first), held[e]);
        } else if (ELEMENTS % V) {
            UNROLL
            for (int l = 0; l < V; l++)
                if (first + l < ELEMENTS)
                    out[first + l] = held[e].v[l];
        }
    }
}
