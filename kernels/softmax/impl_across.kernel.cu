/* SPDX-License-Identifier: Apache-2.0 */
/*
 * [OUTER][AXIS][INNER]: ALONG threads along INNER, V neighbours each, ACROSS of them for each axis.
 * With HELD, how many vectors a thread has, they are read once and kept in registers; with 0 they
 * are read three times. What lies outside of the axis is -inf, whose exponential is 0: no branch
 * is around an exponential, so those of a thread overlap.
 */
#include "kernels/common/scalar_gpu.kernel.h"
#include "kernels/common/team.kernel.h"

#define PLUS(a, b) ((a) + (b))
#define TILES CEIL_DIV(INNER, ALONG *V)
#define ELEMENT(e) ((INDEX)(y + (e)*ACROSS))
#if INNER % (ALONG * V) == 0 && AXIS % ACROSS == 0
#define INSIDE(e) true
#else
#define INSIDE(e) (column < INNER && ELEMENT(e) < AXIS)
#endif
#define EACH_V                                                                                 \
    UNROLL                                                                                     \
    for (int v = 0; v < V; v++)

/* Threads of a column that lie in one warp, and such groups of a column. */
#if defined(TEAM_SWAP) && ALONG < 32 && ALONG * ACROSS % 32 == 0
#define ABREAST MIN(ACROSS, 32 / ALONG)
#else
#define ABREAST 1
#endif
#define DEEP (ACROSS / ABREAST)

VECTOR(vec, SCALAR, V);
VECTOR(vec_stored, OUT_T, V);

INLINE vec fetch(GLOBAL const OUT_T *from)
{
    const vec_stored x = *(GLOBAL const vec_stored *)from;
    vec r;
    EACH_V r.v[v] = (SCALAR)IN_OF(x.v[v]);
    return r;
}

/* x of each thread becomes what OP makes of its column's, by way of the places at `pool`. */
#ifdef TEAM_SWAP
#define SWAPPED(OP, x)                                                                         \
    UNROLL                                                                                     \
    for (int reach = ALONG; reach < ALONG * ABREAST; reach *= 2)                               \
        EACH_V                                                                                 \
        {                                                                                      \
            SCALAR other;                                                                      \
            TEAM_SWAP(other, x.v[v], reach);                                                   \
            x.v[v] = OP(x.v[v], other);                                                        \
        }
#else
#define SWAPPED(OP, x)
#endif
#define COMBINE(OP, x, pool)                                                                   \
    do {                                                                                       \
        SWAPPED(OP, x)                                                                         \
        if (DEEP > 1) {                                                                        \
            if (y % ABREAST == 0)                                                              \
                (pool)[y / ABREAST * ALONG + lane] = x;                                        \
            BARRIER();                                                                         \
            x = (pool)[lane];                                                                  \
            UNROLL                                                                             \
            for (int d = 1; d < DEEP; d++) {                                                   \
                const vec other = (pool)[d * ALONG + lane];                                    \
                EACH_V x.v[v] = OP(x.v[v], other.v[v]);                                        \
            }                                                                                  \
        }                                                                                      \
    } while (0)

KERNEL(ALONG *ACROSS, 1, 1)
softmax(GLOBAL const OUT_T *RESTRICT in, GLOBAL OUT_T *RESTRICT out)
{
    SHARED(shared, 2 * DEEP * ALONG * sizeof(vec));
    LOCAL vec *const mosts = (LOCAL vec *)shared;
    LOCAL vec *const sums = mosts + DEEP * ALONG;
    const int lane = THREAD_X % ALONG, y = THREAD_X / ALONG;
    const INDEX column = ((INDEX)(BLOCK_X % TILES) * ALONG + lane) * V;
    const INDEX base = (INDEX)(BLOCK_X / TILES) * ((INDEX)AXIS * INNER) + column;
    vec most, sum;
    EACH_V
    {
        most.v[v] = s_lowest;
        sum.v[v] = 0;
    }
#if HELD
    vec held[HELD];
    UNROLL
    for (int e = 0; e < HELD; e++) {
        if (INSIDE(e))
            held[e] = fetch(in + base + ELEMENT(e) * INNER);
        else
            EACH_V held[e].v[v] = s_lowest;
    }
    UNROLL
    for (int e = 0; e < HELD; e++)
        EACH_V most.v[v] = s_max(most.v[v], held[e].v[v]);
    COMBINE(s_max, most, mosts);
    UNROLL
    for (int e = 0; e < HELD; e++)
        EACH_V
        {
            held[e].v[v] = s_exp(held[e].v[v] - most.v[v]);
            sum.v[v] += held[e].v[v];
        }
    COMBINE(PLUS, sum, sums);
    EACH_V sum.v[v] = (SCALAR)1 / sum.v[v];
    UNROLL
    for (int e = 0; e < HELD; e++)
        if (INSIDE(e)) {
            vec_stored to;
            EACH_V to.v[v] = RESULT(held[e].v[v] * sum.v[v]);
            STORE_VECTOR((GLOBAL vec_stored *)(out + base + ELEMENT(e) * INNER), to);
        }
#else
    const INDEX end = column < INNER ? AXIS : 0;
    for (INDEX i = y; i < end; i += ACROSS) {
        const vec x = fetch(in + base + i * INNER);
        EACH_V most.v[v] = s_max(most.v[v], x.v[v]);
    }
    COMBINE(s_max, most, mosts);
    for (INDEX i = y; i < end; i += ACROSS) {
        const vec x = fetch(in + base + i * INNER);
        EACH_V sum.v[v] += s_exp(x.v[v] - most.v[v]);
    }
    COMBINE(PLUS, sum, sums);
    EACH_V sum.v[v] = (SCALAR)1 / sum.v[v];
    for (INDEX i = y; i < end; i += ACROSS) {
        const vec x = fetch(in + base + i * INNER);
        vec_stored to;
        EACH_V to.v[v] = RESULT(s_exp(x.v[v] - most.v[v]) * sum.v[v]);
        STORE_VECTOR((GLOBAL vec_stored *)(out + base + i * INNER), to);
    }
#endif
}
