/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of N elements, a block of THREADS threads for each; CUDA and OpenCL. */
#include "kernels/common/epilogue_gpu.kernel.h"
#include "kernels/common/scalar_gpu.kernel.h"
#include "kernels/common/team.kernel.h"

#define PLUS(a, b) ((a) + (b))

KERNEL(THREADS, 1, 1)
unit_rows(GLOBAL const SCALAR *RESTRICT in, GLOBAL SCALAR *RESTRICT out EPILOGUE_PARAMETERS)
{
    SHARED(shared, THREADS * sizeof(SCALAR));
    LOCAL SCALAR *const pool = (LOCAL SCALAR *)shared;
    const int t = THREAD_X;
    const i64 row = (i64)BLOCK_X * N;
    SCALAR sum = 0;
    for (int i = t; i < N; i += THREADS)
        sum += s_abs(in[row + i]);
    TEAM_COMBINE(pool, t, t, THREADS, 1, PLUS, sum);
    for (int i = t; i < N; i += THREADS) {
        SCALAR v = in[row + i] / sum;
        EPILOGUE_APPLY(v, row + i)
        out[row + i] = v;
    }
}
