/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The K best of each piece are gathered into pieces again until one is left. A line has `items`
 * of them at the beginning of a round, whole lists of K.
 */
#include "kernels/order/body_pieces.kernel.h"

#define WHOLE (PIECE / K * K) /* items of a piece of whole lists */

INLINE void round_piece(LOCAL item *s, i64 items, GLOBAL const item *RESTRICT from, int t)
{
    const i64 pieces_left = (items + WHOLE - 1) / WHOLE;
    const i64 line = BLOCK_X / pieces_left, first = BLOCK_X % pieces_left * WHOLE;
    for (int i = t; i < PIECE; i += THREADS)
        s[i] = i < WHOLE && first + i < items ? from[line * items + first + i] : last_item();
    bitonic(s, t);
}

KERNEL(THREADS, 1, 1)
next_round(i64 items, GLOBAL const item *RESTRICT from, GLOBAL item *RESTRICT to)
{
    SHARED(round_pool, PIECE * sizeof(item));
    LOCAL item *const s = (LOCAL item *)round_pool;
    round_piece(s, items, from, THREAD_X);
    for (int i = THREAD_X; i < K; i += THREADS)
        to[(i64)BLOCK_X * K + i] = s[i];
}

KERNEL(THREADS, 1, 1)
last_round(i64 items, GLOBAL const item *RESTRICT from,
           GLOBAL const stored *RESTRICT data OUTPUTS)
{
    SHARED(last_pool, PIECE * sizeof(item));
    LOCAL item *const s = (LOCAL item *)last_pool;
    round_piece(s, items, from, THREAD_X);
    for (int i = THREAD_X; i < K; i += THREADS)
        PUT(s[i], (i64)BLOCK_X, i);
}
