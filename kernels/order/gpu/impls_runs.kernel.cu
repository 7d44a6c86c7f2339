/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorted runs of a line are merged in pairs, pass by pass. A block makes PIECE items of the
 * result: it finds what they are made of by a search along a diagonal of the two runs, takes
 * that to shared memory, and its threads do the same there for EACH items of theirs.
 */
#include "kernels/order/body_pieces.kernel.h"

#define EACH (PIECE / THREADS)
#define PADDED ((i64)PIECES * PIECE)

/* How many of the first `d` items of the merged come from `a` (n_a items at a, n_b at b). */
#define SPLIT(name, space)                                                                     \
    INLINE i64 name(space const item *a, i64 n_a, space const item *b, i64 n_b, i64 d)         \
    {                                                                                          \
        i64 low = MAX((i64)0, d - n_b), high = MIN(d, n_a);                                    \
        while (low < high) {                                                                   \
            const i64 mid = (low + high) / 2;                                                  \
            const item x = a[mid], y = b[d - 1 - mid];                                         \
            if (LESS(y, x))                                                                    \
                high = mid;                                                                    \
            else                                                                               \
                low = mid + 1;                                                                 \
        }                                                                                      \
        return low;                                                                            \
    }
SPLIT(split_far, GLOBAL)
SPLIT(split_near, LOCAL)

/* Leaves in s[0 .. PIECE) the block's items of the merge of runs of `run` items. */
INLINE void merge_piece(LOCAL item *s, GLOBAL const item *RESTRICT from, i64 run, int t)
{
    const i64 at = (i64)(BLOCK_X % PIECES) * PIECE, base = at / (2 * run) * (2 * run);
    GLOBAL const item *const a = from + BLOCK_X / PIECES * PADDED + base;
    const i64 n_a = MIN(run, PADDED - base), n_b = MIN(2 * run, PADDED - base) - n_a;
    GLOBAL const item *const b = a + n_a;
    const i64 d = at - base;
    const i64 a0 = split_far(a, n_a, b, n_b, d), a1 = split_far(a, n_a, b, n_b, d + PIECE);
    const int m_a = (int)(a1 - a0), m_b = PIECE - m_a;
    for (int i = t; i < PIECE; i += THREADS)
        s[i] = i < m_a ? a[a0 + i] : b[d - a0 + i - m_a];
    BARRIER();
    item x[EACH];
    int i = (int)split_near(s, m_a, s + m_a, m_b, t * EACH), j = m_a + t * EACH - i;
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const item p = s[MIN(i, PIECE - 1)], q = s[MIN(j, PIECE - 1)];
        const bool left = j >= PIECE || (i < m_a && !LESS(q, p));
        x[e] = left ? p : q;
        i += left;
        j += !left;
    }
    BARRIER();
    UNROLL
    for (int e = 0; e < EACH; e++)
        s[t * EACH + e] = x[e];
    BARRIER();
}

KERNEL(THREADS, 1, 1)
merge(i64 run, GLOBAL const item *RESTRICT from, GLOBAL item *RESTRICT to)
{
    SHARED(merge_pool, PIECE * sizeof(item));
    LOCAL item *const s = (LOCAL item *)merge_pool;
    merge_piece(s, from, run, THREAD_X);
    for (int i = THREAD_X; i < PIECE; i += THREADS)
        to[(i64)BLOCK_X * PIECE + i] = s[i];
}

KERNEL(THREADS, 1, 1)
finish(i64 run, GLOBAL const item *RESTRICT from, GLOBAL const stored *RESTRICT data OUTPUTS)
{
    SHARED(finish_pool, PIECE * sizeof(item));
    LOCAL item *const s = (LOCAL item *)finish_pool;
    const i64 line = BLOCK_X / PIECES, first = (i64)(BLOCK_X % PIECES) * PIECE;
    merge_piece(s, from, run, THREAD_X);
    for (int i = THREAD_X; i < PIECE; i += THREADS)
        if (first + i < K)
            PUT(s[i], line, first + i);
}
