/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of a strided axis in one pass: a tile is WIDTH neighbouring lines, a thread has EACH
 * elements of one in registers, and the threads of a line meet in shared memory. Each line goes
 * back over its tiles by itself, LOOK at most; a block that would have to go further waits.
 */
#include "kernels/common/counter_gpu.kernel.h"
#include "kernels/scan/lookback.kernel.h"

#define DEEP (THREADS / WIDTH) /* threads of a line */
#define ROWS (DEEP * EACH)
#define COLUMNS CEIL_DIV((i64)INNER, WIDTH)
#define GROUPS MAX((i64)1, OUTER *COLUMNS) /* a range of lines may be empty */

/* What a thread has of the tile from row `from` on: x, and *ahead, what is before them in the tile.
 * Gives what all of the tile's line amounts to. */
INLINE DTYPE scan_tile(GLOBAL const IN *RESTRICT in, i64 base, i64 from, i64 end,
                       LOCAL DTYPE *sums, DTYPE x[EACH], DTYPE *ahead)
{
    const int t = THREAD_X, column = t % WIDTH, deep = t / WIDTH;
    const i64 first = from + deep * EACH;
    DTYPE amount = NEUTRAL, all = NEUTRAL;
    UNROLL
    for (int e = 0; e < EACH; e++)
        x[e] = first + e < end ? LOADED(in[base + (first + e) * INNER]) : NEUTRAL;
    UNROLL
    for (int e = 0; e < EACH; e++)
        amount = OP(amount, x[e]);
    *ahead = NEUTRAL;
    sums[t] = amount;
    BARRIER();
    UNROLL
    for (int d = 0; d < DEEP; d++) {
        const DTYPE other = sums[d * WIDTH + column];
        *ahead = d < deep ? OP(*ahead, other) : *ahead;
        all = OP(all, other);
    }
    return all;
}

#if TILES > 1
/* What everything before `tile` of a line amounts to; whether it was told in time. */
INLINE bool look_back(GLOBAL u64 *told, i64 outer, i64 tile, i64 inner, LOCAL DTYPE *seen,
                      DTYPE *carry)
{
    int n = 0, kind = UNTOLD;
    for (int asked = 0; kind != WHOLE; asked++) {
        DTYPE x;
        if (asked == PATIENCE)
            return false;
        kind = ask(told_of(told, outer, tile - 1 - n, inner), &x);
        if (kind == WHOLE || (kind == OWN && n + 1 < LOOK))
            seen[n++ * WIDTH] = x;
    }
    *carry = seen[--n * WIDTH];
    while (--n >= 0)
        *carry = OP(*carry, seen[n * WIDTH]);
    return true;
}

KERNEL_IN_TURNS(THREADS, 1)
#else
KERNEL(THREADS, 1, 1)
#endif
scan(GLOBAL const IN *RESTRICT in, GLOBAL OUT_T *RESTRICT out
#if TILES > 1
     ,
     GLOBAL u64 *RESTRICT told
#endif
         LEAD_PARAMETERS)
{
    SHARED(scan_pool, POOL_BYTES);
    const int t = THREAD_X, column = t % WIDTH, deep = t / WIDTH;
    DTYPE x[EACH], ahead;
#if TILES > 1
    LOCAL notes *const note = (LOCAL notes *)scan_pool;
    LOCAL DTYPE *const sums = (LOCAL DTYPE *)(note + 1);
    LOCAL DTYPE *const seen = sums + THREADS;
    if (t == 0) {
        note->turn = NEXT_TURN(told);
        note->untold = 0;
    }
    BARRIER();
    const i64 tile = note->turn / GROUPS, group = note->turn % GROUPS;
#else
    LOCAL DTYPE *const sums = (LOCAL DTYPE *)scan_pool;
    const i64 tile = 0, group = BLOCK_X;
#endif
    const i64 outer = group / COLUMNS, inner = group % COLUMNS * WIDTH + column;
    const bool mine = inner < INNER && outer < OUTER && tile < TILES;
    const i64 end = mine ? N : 0, base = mine ? outer * N * INNER + inner : 0;
#if TILES > 1
    DTYPE carry = NEUTRAL, all;
    bool alone = false;
    for (i64 at = tile;; at++) {
        all = scan_tile(in, base, at * ROWS, end, sums, x, &ahead);
        BARRIER(); /* the sums have been read */
        if (alone) {
            if (at == tile)
                break;
            carry = OP(carry, all);
            continue;
        }
        if (deep == 0) {
            bool known = true;
            if (mine && tile > 0) {
                tell(told_of(told, outer, tile, inner), OWN, all);
                known = look_back(told, outer, tile, inner, seen + column, &carry);
            }
            if (mine && known)
                tell(told_of(told, outer, tile, inner), WHOLE, OP(carry, all));
            sums[column] = carry;
            if (!known)
                LOCAL_ADD(&note->untold, 1);
        }
        BARRIER();
        carry = sums[column];
        if (note->untold == 0)
            break;
        alone = true;
        carry = NEUTRAL;
        at = -1;
        BARRIER();
    }
    if (alone && deep == 0 && mine)
        tell(told_of(told, outer, tile, inner), WHOLE, OP(carry, all));
    ahead = OP(carry, ahead);
#else
    scan_tile(in, base, 0, end, sums, x, &ahead);
#endif
    const i64 first = tile * ROWS + deep * EACH;
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const DTYPE next = OP(ahead, x[e]);
        if (first + e < end)
            out[base + (first + e) * INNER] = STORED(EXCLUSIVE ? ahead : next);
        ahead = next;
    }
}
