/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits of many rows on GPUs: a block computes BM x BN of the output by the register tile of
 * kernels/matmul/gpu/tile_gpu.kernel.h. Tiles of both sides lie in shared memory as floats, depth
 * first; integers become floats, times their scale, on their way there. The next tiles' elements
 * are fetched while these are used.
 */
#include "kernels/nbits/gpu/nbits_gpu.kernel.h"

#define LDA (BM + 4)
#define LDB (BN + 4)
#include "kernels/matmul/gpu/tile_gpu.kernel.h"

#define X_LOADS CEIL_DIV(BM *BK / XV, THREADS)
#define W_LOADS CEIL_DIV(BN *BK / PER, THREADS)
#define STEPS CEIL_DIV(K, BK)
#define STAGES 1
#define B_AT (BK * LDA) /* in the tile */
#define VN                                                                                     \
    (N % CN == 0 ? CN : N % 2 == 0 && CN > 1 ? 2 : 1) /* outputs that are stored at once */

VECTOR(vec_out, X_T, VN);

/* Vector i of a thread: its row in the tile and its depth; `each` elements of depth are one. */
#define ROW_OF(i, each) ((thread + (i)*THREADS) / (BK / (each)))
#define DEPTH_OF(i, each) ((thread + (i)*THREADS) % (BK / (each)) * (each))

/* Tile `s` of the depth, zeros unless `on`, as it lies in memory: what is made of it waits until it
 * is there. */
#define FETCH_TILES(s, on)                                                                     \
    UNROLL for (int i = 0; i < X_LOADS; i++)                                                   \
    {                                                                                          \
        const int k = (s)*BK + DEPTH_OF(i, XV);                                                \
        if ((on) && ROW_OF(i, XV) < BM && m0 + ROW_OF(i, XV) < rows && k < K)                  \
            next_x[i] = *(GLOBAL const vec_x *)(x + (m0 + ROW_OF(i, XV)) * K + k);             \
        else                                                                                   \
            UNROLL for (int e = 0; e < XV; e++) next_x[i].v[e] = 0;                            \
    }                                                                                          \
    UNROLL for (int i = 0; i < W_LOADS; i++)                                                   \
    {                                                                                          \
        const int k = (s)*BK + DEPTH_OF(i, PER);                                               \
        const i64 n = n0 + ROW_OF(i, PER);                                                     \
        next_w[i] = 0;                                                                         \
        next_by[i] = 0;                                                                        \
        NEXT_ZERO(i, 0)                                                                        \
        if ((on) && ROW_OF(i, PER) < BN && n < N && k < K) {                                   \
            next_w[i] = weight[n * ROW_WORDS + k / PER];                                       \
            next_by[i] = scale[n * GROUPS + k / GROUP];                                        \
            NEXT_ZERO(i, zero[n * GROUPS + k / GROUP])                                         \
        }                                                                                      \
    }

#if ZERO
#define NEXT_ZERO(i, x) next_z[i] = x;
#define ZERO_HERE(i) ZERO_OF_STORED(next_z[i])
#else
#define NEXT_ZERO(i, x)
#define ZERO_HERE(i) ZERO_AT(0)
#endif

#define STORE_TILES(to)                                                                        \
    UNROLL for (int i = 0; i < X_LOADS; i++)                                                   \
    {                                                                                          \
        if (ROW_OF(i, XV) < BM)                                                                \
            UNROLL for (int e = 0; e < XV; e++)(                                               \
                to)[(DEPTH_OF(i, XV) + e) * LDA + ROW_OF(i, XV)] = X_OF(next_x[i].v[e]);       \
    }                                                                                          \
    UNROLL for (int i = 0; i < W_LOADS; i++)                                                   \
    {                                                                                          \
        if (ROW_OF(i, PER) < BN) {                                                             \
            const u32 word = next_w[i] ^ FLIP;                                                 \
            const float by = SCALE_OF(next_by[i]), z = ZERO_HERE(i);                           \
            UNROLL for (int e = 0; e < PER;                                                    \
                        e++)(to)[B_AT + (DEPTH_OF(i, PER) + e) * LDB + ROW_OF(i, PER)] =       \
                LEVEL(word, e, z) * by;                                                        \
        }                                                                                      \
    }

KERNEL(THREADS, 1, 1)
product(GLOBAL const X_T *RESTRICT x, GLOBAL const u32 *RESTRICT weight,
        GLOBAL const SCALE_T *RESTRICT scale,
        ZERO_PARAMETER GLOBAL X_T *RESTRICT out OUTPUT_PARAMETERS(X_T))
{
    SHARED(pool, BK * (LDA + LDB) * 4);
    LOCAL float *const tile = (LOCAL float *)pool;
    const int thread = THREAD_X, ty = TILE_TY(thread), tx = TILE_TX(thread);
    const i64 n0 = (i64)(BLOCK_X % CEIL_DIV(N, BN)) * BN, rows = ROWS;
    const i64 m0 = (i64)(BLOCK_X / CEIL_DIV(N, BN)) * BM;
    const int steps = m0 < rows ? STEPS : 0;
    vec_x next_x[X_LOADS];
    u32 next_w[W_LOADS];
    SCALE_T next_by[W_LOADS];
#if ZERO
    ZERO_T next_z[W_LOADS];
#endif
    float acc[TM][TN];
    tile_clear(acc);
    if (TILE_AHEAD) {
        TILE_PIPELINE(steps, tile, B_AT + BK * LDB, 0, B_AT, true, ty, tx, acc)
    } else {
        if (steps > 0) {
            FETCH_TILES(0, true)
        }
        UNROLL_BY(1)
        for (int step = 0; step < steps; step++) {
            STORE_TILES(tile)
            BARRIER();
            FETCH_TILES(step + 1, step + 1 < steps)
            tile_multiply(tile, tile + B_AT, ty, tx, acc);
            BARRIER();
        }
    }
    UNROLL
    for (int i = 0; i < TM; i++) {
        const i64 m = m0 + TILE_ROW(i, ty);
        UNROLL
        for (int j = 0; j < TN; j += VN) {
            const i64 n = n0 + TILE_COL(j, tx);
            if (m < rows && n < N) {
                vec_out v;
                UNROLL
                for (int c = 0; c < VN; c++) {
                    EPILOGUE_APPLY(acc[i][j + c], m * N + n + c)
                    v.v[c] = X_TO(acc[i][j + c]);
                }
                STORE_VECTOR((GLOBAL vec_out *)(out + m * N + n), v);
            }
        }
    }
}
