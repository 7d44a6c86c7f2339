/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of a contiguous axis: TEAM threads for a line, EACH consecutive elements a thread, tile
 * after tile. What threads amount to is scanned in shared memory by doubling distances, in two
 * places by turns, so that one barrier a step is enough. All threads make the same number of
 * tiles.
 */
#include "kernels/scan/body_gpu.kernel.h"

#define TILE (TEAM * EACH)
#define TEAMS (THREADS / TEAM)

INLINE DTYPE element(GLOBAL const IN *RESTRICT in, i64 line, i64 i, i64 end)
{
    return line < OUTER && i < end ? LOADED(in[line * N + i]) : NEUTRAL;
}

/* What is before this thread's `x` in its team, and in *all what the team amounts to. */
INLINE DTYPE before(LOCAL DTYPE *pool, int t, int lane, DTYPE x, DTYPE *all)
{
    int place = 0;
    pool[t] = x;
    BARRIER();
    UNROLL_BY(1)
    for (int reach = 1; reach < TEAM; reach *= 2) {
        const DTYPE mine = pool[place + t];
        const DTYPE next = lane >= reach ? OP(pool[place + t - reach], mine) : mine;
        place = THREADS - place;
        pool[place + t] = next;
        BARRIER();
    }
    *all = pool[place + t - lane + TEAM - 1];
    const DTYPE mine = lane > 0 ? pool[place + t - 1] : NEUTRAL;
    BARRIER();
    return mine;
}

#if PARTS > 1
KERNEL(THREADS, 1, 1)
amounts(GLOBAL const IN *RESTRICT in, GLOBAL DTYPE *RESTRICT sums)
{
    SHARED(amounts_pool, 2 * THREADS * sizeof(DTYPE));
    LOCAL DTYPE *const pool = (LOCAL DTYPE *)amounts_pool;
    const int t = THREAD_X, lane = t % TEAM;
    const i64 line = (i64)GROUP * TEAMS + t / TEAM;
    const i64 from = PART_FROM(PART), end = PART_FROM(PART + 1);
    DTYPE sum = NEUTRAL;
    for (i64 i = from; i < end; i += TILE) {
        UNROLL
        for (int e = 0; e < EACH; e++)
            sum = OP(sum, element(in, line, i + e * TEAM + lane, end));
    }
    TEAM_COMBINE(pool, t, lane, TEAM, 1, OP, sum);
    if (line < OUTER && lane == 0)
        sums[PART * (i64)OUTER + line] = sum;
}
#endif

KERNEL(THREADS, 1, 1)
scan(GLOBAL const IN *RESTRICT in, GLOBAL OUT_T *RESTRICT out
#if PARTS > 1
     ,
     GLOBAL const DTYPE *RESTRICT sums
#endif
)
{
    SHARED(scan_pool, 2 * THREADS * sizeof(DTYPE));
    LOCAL DTYPE *const pool = (LOCAL DTYPE *)scan_pool;
    const int t = THREAD_X, lane = t % TEAM;
    const i64 line = (i64)GROUP * TEAMS + t / TEAM;
    const i64 from = PART_FROM(PART), end = PART_FROM(PART + 1);
    DTYPE carry = NEUTRAL;
#if PARTS > 1
    if (line < OUTER)
        for (int p = lane; p < PART; p += TEAM)
            carry = OP(carry, sums[p * (i64)OUTER + line]);
    TEAM_COMBINE(pool, t, lane, TEAM, 1, OP, carry);
#endif
    for (i64 i0 = from; i0 < end; i0 += TILE) {
        const i64 i = i0 + lane * EACH;
        DTYPE x[EACH], sum = NEUTRAL, all;
        UNROLL
        for (int e = 0; e < EACH; e++) {
            x[e] = element(in, line, i + e, end);
            sum = OP(sum, x[e]);
        }
        sum = OP(carry, before(pool, t, lane, sum, &all));
        carry = OP(carry, all);
        UNROLL
        for (int e = 0; e < EACH; e++) {
            const DTYPE next = OP(sum, x[e]);
            if (line < OUTER && i + e < end)
                out[line * N + i + e] = STORED(EXCLUSIVE ? sum : next);
            sum = next;
        }
    }
}
