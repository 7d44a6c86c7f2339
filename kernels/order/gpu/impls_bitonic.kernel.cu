/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that fit in shared memory: THREADS / TEAM of them in a block. */
#include "kernels/order/gpu/keys_gpu.kernel.h"

#define TEAMS (THREADS / TEAM)

KERNEL(THREADS, 1, 1)
order(GLOBAL const stored *RESTRICT data OUTPUTS)
{
    SHARED(pool, TEAMS * PIECE * sizeof(item));
    const int lane = THREAD_X % TEAM, which = THREAD_X / TEAM;
    const i64 line = (i64)BLOCK_X * TEAMS + which;
    LOCAL item *const s = (LOCAL item *)pool + which * PIECE;
    for (int i = lane; i < PIECE; i += TEAM)
        s[i] = item_at(data, LINES, line, i);
    bitonic(s, lane);
    if (line < LINES)
        for (int i = lane; i < K; i += TEAM)
            PUT(s[i], line, i);
}
