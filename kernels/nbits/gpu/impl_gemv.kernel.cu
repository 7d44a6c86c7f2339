/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits of few rows on GPUs, as fast as the weight is read. A block is TEAMS teams of LANES
 * threads; a team computes EACH_M rows of EACH_N columns. Its threads walk along the depth side by
 * side, VW words at a time, and their sums meet at the end. Teams beyond the edge compute the last
 * row or column once more and store nothing.
 */
#include "kernels/common/team.kernel.h"
#include "kernels/nbits/gpu/nbits_gpu.kernel.h"

#define ALL (TEAMS * LANES) /* threads of a block */
#define SUMS (EACH_M * EACH_N)

VECTOR(vec_w, u32, VW);

KERNEL(ALL, 1, 1)
product(GLOBAL const X_T *RESTRICT x, GLOBAL const u32 *RESTRICT weight,
        GLOBAL const SCALE_T *RESTRICT scale,
        ZERO_PARAMETER GLOBAL X_T *RESTRICT out OUTPUT_PARAMETERS(X_T))
{
    SHARED(pool, TEAM_SUMS_ROOM(ALL, LANES, SUMS) * 4);
    const int thread = THREAD_X, lane = thread % LANES;
    const i64 m0 = (i64)BLOCK_Y * EACH_M, rows = ROWS;
    const i64 n0 = ((i64)BLOCK_X * TEAMS + thread / LANES) * EACH_N;
    const bool idle = m0 >= rows;
    float acc[SUMS];
    UNROLL
    for (int s = 0; s < SUMS; s++)
        acc[s] = 0;
    UNROLL_BY(DEEP)
    for (int at = lane * VW; at < (idle ? 0 : ROW_WORDS); at += LANES * VW) {
        vec_w w[EACH_N];
        UNROLL
        for (int j = 0; j < EACH_N; j++)
            w[j] = *(GLOBAL const vec_w *)(weight + MIN(n0 + j, N - 1) * ROW_WORDS + at);
        UNROLL
        for (int v = 0; v < VW; v++) {
            const int k = (at + v) * PER, g = k / GROUP;
            float xs[EACH_M][PER];
            UNROLL
            for (int i = 0; i < EACH_M; i++) {
                UNROLL
                for (int c = 0; c < PER; c += XV) {
                    const vec_x some =
                        *(GLOBAL const vec_x *)(x + MIN(m0 + i, rows - 1) * K + k + c);
                    UNROLL
                    for (int e = 0; e < XV; e++)
                        xs[i][c + e] = X_OF(some.v[e]);
                }
            }
            UNROLL
            for (int j = 0; j < EACH_N; j++) {
                const i64 place = MIN(n0 + j, N - 1) * GROUPS + g;
                const float by = SCALE_OF(scale[place]), z = ZERO_AT(place);
                const u32 word = w[j].v[v] ^ FLIP;
                float part[EACH_M];
                UNROLL
                for (int i = 0; i < EACH_M; i++)
                    part[i] = 0;
                UNROLL
                for (int e = 0; e < PER; e++) {
                    const float level = LEVEL(word, e, z);
                    UNROLL
                    for (int i = 0; i < EACH_M; i++)
                        part[i] = FMA(xs[i][e], level, part[i]);
                }
                UNROLL
                for (int i = 0; i < EACH_M; i++)
                    acc[i * EACH_N + j] = FMA(part[i], by, acc[i * EACH_N + j]);
            }
        }
    }
    TEAM_SUMS((LOCAL float *)pool, thread, lane, LANES, ALL, SUMS, acc);
    UNROLL
    for (int s = 0; s < SUMS; s++) {
        const i64 m = m0 + s / EACH_N, n = n0 + s % EACH_N;
        if (lane == s % LANES && m < rows && n < N) {
            EPILOGUE_APPLY(acc[s], m * N + n)
            out[m * N + n] = X_TO(acc[s]);
        }
    }
}
