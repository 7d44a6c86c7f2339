/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The float32 product of kernels/matmul/gpu/impls_tile.kernel.cu for compute capability 8.0 and
 * later: tiles come into a ring of STAGES of them by asynchronous copies, so that no register waits
 * for memory and nothing is there for a compiler to move; what threads multiply is loaded one step
 * of depth ahead, across tiles, too. An operand that lies row by row is turned on its way, in
 * copies of 4 bytes: eight threads take eight depths of a row, and SKEW between depths puts the 32
 * places of a warp on 32 banks.
 *
 * Edges: copies of no bytes are zeros. Macros: those of kernels/matmul/gpu/matmul_gpu.h; VX VY are
 * elements copied at once of operands that lie depth by depth.
 */
#include "kernels/common/mma_gpu.kernel.h"
#include "kernels/matmul/gpu/product_gpu.kernel.h"

#define SKEW 4
#define X_PITCH (BM + (X_ALONG ? 0 : SKEW))
#define Y_PITCH (BN + (Y_ALONG ? 0 : SKEW))
#define TILE_A_AT(k) ((k)*X_PITCH)
#define TILE_B_AT(k) ((k)*Y_PITCH)
#include "kernels/matmul/gpu/tile_gpu.kernel.h"
#include "kernels/matmul/gpu/tile_out_gpu.kernel.h"
#define TILE_STORE STORE_VECTOR
#define TILE_SUM APART

#define X_TILE TILE_A_AT(BK)
#define TILE (X_TILE + TILE_B_AT(BK))
#define STEPS CEIL_DIV(CEIL_DIV(K, BK), SPLITS) /* of one block */
#define WHOLE_K (K % (BK * SPLITS) == 0)
#define WHOLE_M (!M_VARIES && M % BM == 0)
#define WHOLE_N (N % BN == 0)
#define TURNED 8 /* depths of a row that lie side by side in a warp */

/* BK of depth of `count` rows that are `ld` apart; `left` of the depth and `have` of the rows are
 * inside. */
INLINE void fill_turned(LOCAL float *to, GLOBAL const float *from, const int count,
                        const int pitch, const INDEX ld, INDEX left, INDEX have,
                        const bool whole)
{
    const int k = THREAD_X % TURNED, r = THREAD_X / TURNED;
    to += k * pitch + r;
    from += r * ld + k;
    UNROLL
    for (int h = 0; h < BK; h += TURNED) {
        UNROLL
        for (int i = 0; i < count; i += THREADS / TURNED) {
            const bool inside = (WHOLE_K || k + h < left) && (whole || r + i < have);
            if (count % (THREADS / TURNED) == 0 || r + i < count)
                cp_async_4_zero(to + h * pitch + i, from + i * ld + h, inside ? 4 : 0);
        }
    }
}

/* The same of an operand that lies depth by depth, in vectors of v. */
INLINE void fill_along(LOCAL float *to, GLOBAL const float *from, const int count, const int v,
                       const INDEX ld, INDEX left, INDEX have, const bool whole)
{
    const int line = count / v; /* copies of a depth */
    UNROLL
    for (int i = 0; i < BK * line; i += THREADS) {
        const int e = THREAD_X + i, k = e / line, r = e % line * v;
        const bool inside = (WHOLE_K || k < left) && (whole || r < have);
        if (BK * line % THREADS == 0 || e < BK * line) {
            if (v == 4)
                cp_async_16_zero(to + k * count + r, from + k * ld + r, inside ? 16 : 0);
            else if (v == 2)
                cp_async_8_zero(to + k * count + r, from + k * ld + r, inside ? 8 : 0);
            else
                cp_async_4_zero(to + k * count + r, from + k * ld + r, inside ? 4 : 0);
        }
    }
}

#if X_ALONG
#define FILL_X(to, k)                                                                          \
    fill_along(to, xs + (k) * (INDEX)M, BM, VX, M, depth - (k), rows - m0, WHOLE_M);
#else
#define FILL_X(to, k)                                                                          \
    fill_turned(to, xs + (k), BM, X_PITCH, K, depth - (k), rows - m0, WHOLE_M);
#endif
#if Y_ALONG
#define FILL_Y(to, k)                                                                          \
    fill_along(to, ys + (k) * (INDEX)N, BN, VY, N, depth - (k), N - n0, WHOLE_N);
#else
#define FILL_Y(to, k) fill_turned(to, ys + (k), BN, Y_PITCH, K, depth - (k), N - n0, WHOLE_N);
#endif

/* What a thread multiplies at depth k of a tile. */
INLINE void load_step(float *ra, float *rb, LOCAL const float *from, int k, int ty, int tx)
{
    UNROLL
    for (int i = 0; i < TM; i += CM) {
        const tile_rows v = *(LOCAL const tile_rows *)(from + TILE_A_AT(k) + TILE_ROW(i, ty));
        UNROLL
        for (int c = 0; c < CM; c++)
            ra[i + c] = v.v[c];
    }
    UNROLL
    for (int j = 0; j < TN; j += CN) {
        const tile_cols v =
            *(LOCAL const tile_cols *)(from + X_TILE + TILE_B_AT(k) + TILE_COL(j, tx));
        UNROLL
        for (int c = 0; c < CN; c++)
            rb[j + c] = v.v[c];
    }
}

KERNEL_RESIDENT(THREADS, 1, 1, RESIDENT)
matmul(GLOBAL const DTYPE *RESTRICT x, GLOBAL const DTYPE *RESTRICT y,
       GLOBAL DTYPE *RESTRICT out PRODUCT_PARAMETERS(DTYPE))
{
    SHARED(pool, STAGES * TILE * ELEM);
    LOCAL float *const ring = (LOCAL float *)pool;
    const int t = THREAD_X;
    const int tx = t / (LX * LY) % (TX / LX) * LX + t % LX;
    const int ty = t / (LX * LY) / (TX / LX) * LY + t / LX % LY;
    const INDEX n0 = (INDEX)(BLOCK_X % CEIL_DIV(N, BN)) * BN;
    const INDEX m0 = (INDEX)(BLOCK_X / CEIL_DIV(N, BN)) * BM;
    const i64 batch = BLOCK_Y;
    const INDEX rows = B_VARIES && batch >= BATCHES ? 0 : (INDEX)ROWS;
    const bool idle = (M_VARIES || B_VARIES) && m0 >= rows;
    const INDEX k0 = (INDEX)BLOCK_Z * (STEPS * BK), depth = K - k0;
    const int left = (int)CEIL_DIV(depth, BK);
    const int steps = idle ? 0 : WHOLE_K ? STEPS : MIN(left, STEPS);
    GLOBAL const float *const xs = x + (X_SHARED ? 0 : batch * rows * K) +
                                   m0 * (X_ALONG ? 1 : (i64)K) + k0 * (X_ALONG ? (i64)M : 1);
    GLOBAL const float *const ys = y + (Y_SHARED ? 0 : batch * N * K) +
                                   n0 * (Y_ALONG ? 1 : (i64)K) + k0 * (Y_ALONG ? (i64)N : 1);
    float acc[TM][TN], ra[2][TM], rb[2][TN];
    int read = 0, write = STAGES - 1;
    tile_clear(acc);
    UNROLL
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) {
            FILL_X(ring + s * TILE, (INDEX)s * BK)
            FILL_Y(ring + s * TILE + X_TILE, (INDEX)s * BK)
        }
        cp_async_commit();
    }
    CP_ASYNC_WAIT(STAGES - 2);
    BARRIER();
    if (steps > 0)
        load_step(ra[0], rb[0], ring, 0, ty, tx);
    UNROLL_BY(1)
    for (int step = 0; step < steps; step++) {
        if (step + STAGES - 1 < steps) {
            FILL_X(ring + write * TILE, (INDEX)(step + STAGES - 1) * BK)
            FILL_Y(ring + write * TILE + X_TILE, (INDEX)(step + STAGES - 1) * BK)
        }
        cp_async_commit();
        UNROLL
        for (int k = 0; k < BK; k++) {
            if (k + 1 == BK) { /* what the last step loads is not used */
                CP_ASYNC_WAIT(STAGES - 2);
                BARRIER();
                write = read;
                read = step + 1 == steps ? read : read + 1 == STAGES ? 0 : read + 1;
            }
            load_step(ra[(k + 1) % 2], rb[(k + 1) % 2], ring + read * TILE, (k + 1) % BK, ty,
                      tx);
            UNROLL
            for (int i = 0; i < TM; i++) {
                UNROLL
                for (int j = 0; j < TN; j++)
                    acc[i][j] = FMA(ra[k % 2][i], rb[k % 2][j], acc[i][j]);
            }
        }
    }
    CP_ASYNC_WAIT(0);
    GLOBAL DTYPE *const to = out + ((i64)BLOCK_Z * (B * (i64)M) + batch * rows) * N;
    TILE_OUT(acc, to, batch * rows * N, m0, n0, rows, ty, tx, true, WHOLE_M && !B_VARIES)
}

#if SPLITS > 1
#include "kernels/matmul/gpu/splits_gpu.kernel.h"
#endif
