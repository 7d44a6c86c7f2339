/* SPDX-License-Identifier: Apache-2.0 */
/* The first stage of long lines: PIECES pieces of each, a block for one, of which KEEP items
 * stay. */
#include "kernels/order/gpu/keys_gpu.kernel.h"

KERNEL(THREADS, 1, 1)
pieces(GLOBAL const stored *RESTRICT data, GLOBAL item *RESTRICT to)
{
    SHARED(pieces_pool, PIECE * sizeof(item));
    LOCAL item *const s = (LOCAL item *)pieces_pool;
    const int t = THREAD_X;
    const i64 line = BLOCK_X / PIECES, first = (i64)(BLOCK_X % PIECES) * PIECE;
    for (int i = t; i < PIECE; i += THREADS)
        s[i] = item_at(data, LINES, line, first + i);
    bitonic(s, t);
    for (int i = t; i < KEEP; i += THREADS)
        to[(i64)BLOCK_X * KEEP + i] = s[i];
}
