/* SPDX-License-Identifier: Apache-2.0 */
/*
 * [OUTER][AXIS][INNER]: ALONG threads along INNER, ACROSS of them for each axis. With HELD, how
 * many elements a thread has, they are read once and kept in registers; with 0 they are read three
 * times.
 */
#include "kernels/common/scalar_gpu.kernel.h"
#include "kernels/common/team.kernel.h"

#define PLUS(a, b) ((a) + (b))
#define TILES CEIL_DIV(INNER, ALONG)
#define ELEMENT(e) ((INDEX)(y + (e)*ACROSS))
#define INSIDE(e) (column < INNER && ELEMENT(e) < AXIS)
#define VALUE(i) ((SCALAR)IN_OF(in[base + (i)*INNER]))

KERNEL(ALONG, ACROSS, 1)
softmax(GLOBAL const OUT_T *RESTRICT in, GLOBAL OUT_T *RESTRICT out)
{
    SHARED(shared, ALONG * ACROSS * sizeof(SCALAR));
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)shared;
    const int x = THREAD_X, y = THREAD_Y, at = y * ALONG + x;
    const INDEX column = (INDEX)(BLOCK_X % TILES) * ALONG + x;
    const INDEX base = (INDEX)(BLOCK_X / TILES) * ((INDEX)AXIS * INNER) + column;
    SCALAR most = s_lowest, sum = 0;
#if HELD
    SCALAR held[HELD];
    UNROLL
    for (int e = 0; e < HELD; e++)
        held[e] = INSIDE(e) ? VALUE(ELEMENT(e)) : s_lowest;
    UNROLL
    for (int e = 0; e < HELD; e++)
        most = s_max(most, held[e]);
    TEAM_COMBINE(pool, at, y, ACROSS, ALONG, s_max, most);
    UNROLL
    for (int e = 0; e < HELD; e++) {
        held[e] = INSIDE(e) ? s_exp(held[e] - most) : 0;
        sum += held[e];
    }
    TEAM_COMBINE(pool, at, y, ACROSS, ALONG, PLUS, sum);
    const SCALAR share = (SCALAR)1 / sum;
    UNROLL
    for (int e = 0; e < HELD; e++)
        if (INSIDE(e))
            out[base + ELEMENT(e) * INNER] = RESULT(held[e] * share);
#else
    if (column < INNER)
        for (INDEX i = y; i < AXIS; i += ACROSS)
            most = s_max(most, VALUE(i));
    TEAM_COMBINE(pool, at, y, ACROSS, ALONG, s_max, most);
    if (column < INNER)
        for (INDEX i = y; i < AXIS; i += ACROSS)
            sum += s_exp(VALUE(i) - most);
    TEAM_COMBINE(pool, at, y, ACROSS, ALONG, PLUS, sum);
    const SCALAR share = (SCALAR)1 / sum;
    if (column < INNER)
        for (INDEX i = y; i < AXIS; i += ACROSS)
            out[base + i * INNER] = RESULT(s_exp(VALUE(i) - most) * share);
#endif
}
