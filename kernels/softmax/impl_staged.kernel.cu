/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OUTER rows of AXIS elements that are no whole vectors, one behind the other: a block moves a run
 * of them to shared memory in vectors, whatever the rows' own alignment, TEAM threads compute a
 * row in registers, HELD elements each, and the run goes back as it came. A team has EACH rows.
 */
#include "kernels/common/scalar_gpu.kernel.h"
#include "kernels/common/team.kernel.h"

#define STAGED_T OUT_T
#include "kernels/common/staged.kernel.h"

#define PLUS(a, b) ((a) + (b))
#define TEAMS (THREADS / TEAM)
#define ROWS (TEAMS * EACH) /* of a block */

KERNEL(THREADS, 1, 1)
softmax(GLOBAL const OUT_T *RESTRICT in, GLOBAL OUT_T *RESTRICT out)
{
    SHARED(shared, STAGED_ROOM(ROWS *AXIS) + THREADS * sizeof(SCALAR));
    LOCAL OUT_T *const run = (LOCAL OUT_T *)shared;
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)(shared + STAGED_ROOM(ROWS * AXIS));
    const int t = THREAD_X, lane = t % TEAM;
    const i64 first = (i64)BLOCK_X * ROWS;
    const int rows = (int)MIN((i64)ROWS, (i64)OUTER - first);
    const INDEX at = (INDEX)first * AXIS;
    const int skip = STAGED_SKIP(at);
    stage(run, in + at, skip, rows * AXIS, t);
    BARRIER();
    UNROLL_BY(1)
    for (int e = 0; e < EACH; e++) {
        const int place = e * TEAMS + t / TEAM;
        LOCAL OUT_T *const row = run + skip + place * AXIS;
        const int end = place < rows ? AXIS : 0;
        SCALAR held[HELD], most = s_lowest, sum = 0;
        UNROLL
        for (int h = 0; h < HELD; h++) {
            held[h] = s_lowest; /* adds nothing */
            if (lane + h * TEAM < end)
                held[h] = (SCALAR)IN_OF(row[lane + h * TEAM]);
            most = s_max(most, held[h]);
        }
        TEAM_COMBINE(pool, t, lane, TEAM, 1, s_max, most);
        UNROLL
        for (int h = 0; h < HELD; h++) {
            held[h] = s_exp(held[h] - most);
            sum += held[h];
        }
        TEAM_COMBINE(pool, t, lane, TEAM, 1, PLUS, sum);
        const SCALAR share = (SCALAR)1 / sum;
        UNROLL
        for (int h = 0; h < HELD; h++)
            if (lane + h * TEAM < end)
                row[lane + h * TEAM] = RESULT(held[h] * share);
    }
    BARRIER();
    unstage(out + at, run, skip, rows * AXIS, t);
}
