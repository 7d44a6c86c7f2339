/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of a strided axis in one pass: a tile is WIDTH neighbouring lines, a thread has EACH
 * elements of one in registers, and the threads of a line meet in shared memory. Each line goes
 * back over its tiles by itself.
 */
#include "kernels/scan/lookback.kernel.h"

#define DEEP (THREADS / WIDTH) /* threads of a line */
#define ROWS (DEEP * EACH)
#define COLUMNS CEIL_DIV((i64)INNER, WIDTH)
#define GROUPS MAX((i64)1, OUTER * COLUMNS) /* a range of lines may be empty */

#if TILES > 1
/* What everything before `tile` of a line amounts to. */
INLINE DTYPE look_back(GLOBAL u64 *told, i64 outer, i64 tile, i64 inner, LOCAL DTYPE *seen)
{
    int n = 0;
    for (;;) {
        DTYPE x;
        const int kind = ask(told_of(told, outer, tile - 1 - n, inner), &x);
        if (kind == WHOLE || (kind == OWN && n + 1 < LOOK))
            seen[n++ * WIDTH] = x;
        if (kind == WHOLE)
            break;
    }
    DTYPE carry = seen[--n * WIDTH];
    while (--n >= 0)
        carry = OP(carry, seen[n * WIDTH]);
    return carry;
}

KERNEL_IN_TURNS(THREADS)
#else
KERNEL(THREADS, 1, 1)
#endif
scan(GLOBAL const IN *RESTRICT in, GLOBAL DTYPE *RESTRICT out
#if TILES > 1
     ,
     GLOBAL u64 *RESTRICT told
#endif
         LEAD_PARAMETERS)
{
    SHARED(scan_pool, POOL_BYTES);
    LOCAL DTYPE *const sums = (LOCAL DTYPE *)scan_pool;
    const int t = THREAD_X, column = t % WIDTH, deep = t / WIDTH;
#if TILES > 1
    LOCAL DTYPE *const seen = sums + THREADS;
    LOCAL i64 *const turn = (LOCAL i64 *)(seen + LOOK * WIDTH);
    if (t == 0)
        *turn = NEXT_TURN(told);
    BARRIER();
    const i64 tile = *turn / GROUPS, group = *turn % GROUPS;
#else
    const i64 tile = 0, group = BLOCK_X;
#endif
    const i64 outer = group / COLUMNS, inner = group % COLUMNS * WIDTH + column;
    const bool mine = inner < INNER && outer < OUTER && tile < TILES;
    const i64 first = tile * ROWS + deep * EACH;
    const i64 end = mine ? N : 0, base = mine ? (outer * N + first) * INNER + inner : 0;
    DTYPE x[EACH], amount = NEUTRAL;
    UNROLL
    for (int e = 0; e < EACH; e++)
        x[e] = first + e < end ? (DTYPE)in[base + e * (i64)INNER] : NEUTRAL;
    UNROLL
    for (int e = 0; e < EACH; e++)
        amount = OP(amount, x[e]);
    DTYPE ahead = NEUTRAL, all = NEUTRAL;
    sums[t] = amount;
    BARRIER();
    UNROLL
    for (int d = 0; d < DEEP; d++) {
        const DTYPE other = sums[d * WIDTH + column];
        ahead = d < deep ? OP(ahead, other) : ahead;
        all = OP(all, other);
    }
#if TILES > 1
    BARRIER(); /* the sums have been read */
    if (deep == 0) {
        DTYPE carry = NEUTRAL;
        if (mine && tile > 0) {
            tell(told_of(told, outer, tile, inner), OWN, all);
            carry = look_back(told, outer, tile, inner, seen + column);
        }
        if (mine)
            tell(told_of(told, outer, tile, inner), WHOLE, OP(carry, all));
        sums[column] = carry;
    }
    BARRIER();
    ahead = OP(sums[column], ahead);
#endif
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const DTYPE next = OP(ahead, x[e]);
        if (first + e < end)
            out[base + e * (i64)INNER] = EXCLUSIVE ? ahead : next;
        ahead = next;
    }
}
