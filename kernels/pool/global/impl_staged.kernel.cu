/* SPDX-License-Identifier: Apache-2.0 */
/* Planes of COUNT pixels of one channel, OUTPUTS of them, through shared memory. */
#include "kernels/common/scalar_gpu.kernel.h"
#include "kernels/common/team.kernel.h"

#include "kernels/common/staged_rows.kernel.h"

#define PLUS(a, b) ((a) + (b))
#define PIXEL(x) (x)

KERNEL(THREADS, 1, 1)
means(GLOBAL const IN_T *RESTRICT in, GLOBAL OUT_T *RESTRICT out)
{
    SHARED(shared, STAGED_ROWS_ROOM);
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)(shared + STAGED_POOL);
    const int t = THREAD_X, lane = t % ROW_TEAM;
    const INDEX plane = (INDEX)BLOCK_X * STAGED_ROWS + t / ROW_TEAM;
    SCALAR sum = 0;
    STAGED_FOLD((LOCAL IN_T *)shared, in, t, PLUS, PIXEL, sum);
    TEAM_COMBINE(pool, t, lane, ROW_TEAM, 1, PLUS, sum);
    if (plane < OUTPUTS && lane == 0)
        out[plane] = RESULT(sum / (SCALAR)COUNT);
}
