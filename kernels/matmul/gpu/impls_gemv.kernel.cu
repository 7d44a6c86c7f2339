/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of few rows with a matrix, in GPU bodies: out[b][m][n] = sum over k of x[b](m, k)
 * * y[b](n, k), plus bias[n], where both operands lie row by row. Nothing is used often enough
 * to be staged: it is as fast as y is read.
 *
 * A block is TEAMS teams of LANES threads. A team computes EACH_M rows of EACH_N columns: its
 * threads walk along the depth side by side, VX elements at a time and DEEP of these under way,
 * and their sums meet at the end. SPLITS blocks may share the depth
 * (kernels/matmul/gpu/splits_gpu.kernel.h). Teams beyond the edge compute the last row or
 * column once more and store nothing. Macros as in kernels/matmul/gpu/matmul_gpu.h.
 */
#include "kernels/matmul/gpu/product_gpu.kernel.h"
#include "kernels/common/team.kernel.h"

#define ALL (TEAMS * LANES) /* threads of a block */
#define SUMS (EACH_M * EACH_N)
#define STRIDE (LANES * VX)
#define PART (CEIL_DIV(CEIL_DIV(K, STRIDE), SPLITS) * STRIDE) /* of the depth, a block's */
#define GROUPS CEIL_DIV(M, EACH_M)

VECTOR(vec_k, DTYPE, VX);
VECTOR(vec_n, DTYPE, VN);

/* acc += the products at depth k and its neighbours in one vector. */
INLINE void step(GLOBAL const DTYPE *const *xs, GLOBAL const DTYPE *const *ys, i64 k,
                 DTYPE *acc)
{
    vec_k b[EACH_N];
    UNROLL
    for (int j = 0; j < EACH_N; j++)
        b[j] = *(GLOBAL const vec_k *)(ys[j] + k);
    UNROLL
    for (int i = 0; i < EACH_M; i++) {
        const vec_k a = *(GLOBAL const vec_k *)(xs[i] + k);
        UNROLL
        for (int j = 0; j < EACH_N; j++) {
            UNROLL
            for (int c = 0; c < VX; c++)
                acc[i * EACH_N + j] = FMA(a.v[c], b[j].v[c], acc[i * EACH_N + j]);
        }
    }
}

KERNEL(ALL, 1, 1)
matmul(GLOBAL const DTYPE *RESTRICT x, GLOBAL const DTYPE *RESTRICT y,
       GLOBAL DTYPE *RESTRICT out PRODUCT_PARAMETERS(DTYPE))
{
    SHARED(pool, TEAM_SUMS_ROOM(ALL, LANES, SUMS) * ELEM);
    const int thread = THREAD_X, lane = thread % LANES, part = BLOCK_Z / GROUPS;
    const int m0 = BLOCK_Z % GROUPS * EACH_M;
    const i64 batches = BATCHES, rows = ROWS;
    const i64 batch = BLOCK_Y, n0 = ((i64)BLOCK_X * TEAMS + thread / LANES) * EACH_N;
    const bool idle = batch >= batches || m0 >= rows;
    GLOBAL const DTYPE *xs[EACH_M], *ys[EACH_N];
    DTYPE acc[SUMS];
    UNROLL
    for (int i = 0; i < EACH_M; i++)
        xs[i] = x + ((X_SHARED ? 0 : batch * rows) + MIN(m0 + i, rows - 1)) * K;
    UNROLL
    for (int j = 0; j < EACH_N; j++)
        ys[j] = y + ((Y_SHARED ? 0 : batch * N) + MIN(n0 + j, N - 1)) * K;
    UNROLL
    for (int s = 0; s < SUMS; s++)
        acc[s] = 0;

    i64 k = (i64)part * PART + lane * VX;
    const i64 end = idle ? 0 : MIN((i64)(part + 1) * PART, K);
    UNROLL_BY(1)
    for (; k + (DEEP - 1) * STRIDE < end; k += DEEP * STRIDE) {
        UNROLL
        for (int d = 0; d < DEEP; d++)
            step(xs, ys, k + d * STRIDE, acc);
    }
    UNROLL_BY(1)
    for (; k < end; k += STRIDE)
        step(xs, ys, k, acc);

    TEAM_SUMS((LOCAL DTYPE *)pool, thread, lane, LANES, ALL, SUMS, acc);
    GLOBAL DTYPE *const to = out + part * (B * (i64)M * N) + batch * rows * N;
    UNROLL
    for (int s = 0; s < SUMS; s++) {
        const i64 m = m0 + s / EACH_N, n = n0 + s % EACH_N;
        if (lane == s % LANES && !idle && m < rows && n < N) {
#if BIAS_HERE
            acc[s] += bias[n];
#endif
#if EPILOGUE_HERE
            EPILOGUE_APPLY(acc[s], (batch * rows + m) * N + n)
#endif
            to[m * N + n] = acc[s];
        }
    }
}

#if SPLITS > 1
#include "kernels/matmul/gpu/splits_gpu.kernel.h"
#endif
