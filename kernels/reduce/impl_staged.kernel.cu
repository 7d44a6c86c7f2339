/* SPDX-License-Identifier: Apache-2.0 */
/* OUTPUTS rows of COUNT values, one behind the other, through shared memory. */
#include "kernels/reduce/reduce_body_gpu.kernel.h"

#include "kernels/common/staged_rows.kernel.h"

KERNEL(THREADS, 1, 1)
reduce(GLOBAL const IN_T *RESTRICT in, GLOBAL MADE *RESTRICT out)
{
    SHARED(reduce_pool, STAGED_ROWS_ROOM);
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)(reduce_pool + STAGED_POOL);
    const int t = THREAD_X, lane = t % ROW_TEAM;
    const INDEX k = (INDEX)BLOCK_X * STAGED_ROWS + t / ROW_TEAM;
    SCALAR sum = (SCALAR)(IDENTITY);
    STAGED_FOLD((LOCAL IN_T *)reduce_pool, in, t, combine, map, sum);
    if (ROW_TEAM > 1) {
        pool[t] = sum;
        tree(pool, t, lane, ROW_TEAM, 1);
        sum = pool[t];
    }
    if (k < OUTPUTS && lane == 0)
        out[k] = MAKE(sum);
}
