/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix product of GPU bodies: out[b][m][n] = sum over k of x[b](m, k) * y[b](n, k), plus
 * bias[n]. dense and batch_matmul, large products and those of few rows share it;
 * kernels/matmul/gpu/matmul_gpu.h writes its macros and is where they are told.
 *
 * A block computes BM x BN of one batch by the register tile of
 * kernels/matmul/gpu/tile_gpu.kernel.h. Tiles of both operands lie in shared memory, depth
 * first; the next ones travel through registers while these are used. An operand that lies
 * depth by depth already (X_ALONG) is fetched and stored in vectors; one that lies row by row
 * is turned on its way, and SKEW places more for each vector of depth let the threads of a
 * warp, who hold a few rows at several depths, store into different banks. Within a warp the
 * threads form LX x LY, so that it reads few different words of a tile.
 *
 * Depth is shared where outputs are few: SLICES groups of a block's threads take a part of each
 * tile and their sums meet in shared memory; SPLITS blocks take a part of all tiles and
 * kernels/common/ splits_gpu.kernel.h adds up what they leave. Edges: what lies outside is
 * staged as zero and never stored; where a shape divides, the conditions are constants and
 * vanish. A block without rows (ROWS at run time) takes no step, but comes by every barrier.
 */
#include "kernels/matmul/gpu/product_gpu.kernel.h"

#define X_SKEW (X_ALONG ? 0 : SKEW_OF(VX))
#define Y_SKEW (Y_ALONG ? 0 : SKEW_OF(VY))
#define SKEW_OF(v) MAX(16 / ELEM, 128 / ELEM * (v) / BK)
#define TILE_A_AT(k) ((k)*BM + (k) / VX * X_SKEW)
#define TILE_B_AT(k) ((k)*BN + (k) / VY * Y_SKEW)
#define TILE_DEPTH (BK / SLICES)
#include "kernels/matmul/gpu/slices_gpu.kernel.h"
#include "kernels/matmul/gpu/tile_gpu.kernel.h"
#include "kernels/matmul/gpu/tile_out_gpu.kernel.h"

#define TILE_STORE STORE_VECTOR
#define TILE_SUM APART

#define ALL (THREADS * SLICES) /* threads of a block */
#define X_TILE TILE_A_AT(BK)
#define TILE (X_TILE + TILE_B_AT(BK))
#define STEPS CEIL_DIV(CEIL_DIV(K, BK), SPLITS) /* of one block */
#define WHOLE_K (K % (BK * SPLITS) == 0)
#define WHOLE_M (!M_VARIES && M % BM == 0)
#define WHOLE_N (N % BN == 0)

VECTOR(vec_x, DTYPE, VX);
VECTOR(vec_y, DTYPE, VY);

/* One operand's macros: where a thread's first vector of a tile lies, and how far each next
 * one. `inner` counts along what is contiguous in memory. */
#define INNER(rows, along) ((along) ? (rows) : BK)
#define FIRST_INNER(rows, along, w) (thread * (w) % INNER(rows, along))
#define FIRST_OUTER(rows, along, w) (thread * (w) / INNER(rows, along))
#define NEXT_OUTER(rows, along, w) (ALL * (w) / INNER(rows, along))
#define LOADS(rows, w) CEIL_DIV((rows)*BK / (w), ALL)
#define MINE(rows, w, i) ((rows)*BK / (w) % ALL == 0 || thread + (i)*ALL < (rows)*BK / (w))

/* Where a thread's first vector of the first tile lies, from where its block's operand begins. */
#define FIRST(rows, along, w, ld)                                                              \
    (FIRST_OUTER(rows, along, w) * (INDEX)(ld) + FIRST_INNER(rows, along, w))

/* to[i] = vector i of the tile at depth `at`, zero outside, the first of which is at `from`, which
 * moves on to the next tile; row0 and last are of the operand. */
#define FETCH(to, type, from, rows, along, w, ld, row0, last, whole, at)                       \
    UNROLL for (int i = 0; i < LOADS(rows, w); i++)                                            \
    {                                                                                          \
        const int outer = FIRST_OUTER(rows, along, w) + i * NEXT_OUTER(rows, along, w);        \
        const int inner = FIRST_INNER(rows, along, w);                                         \
        const int row = (along) ? inner : outer, k = (along) ? outer : inner;                  \
        if (MINE(rows, w, i) && (WHOLE_K || (at) + k < K) &&                                   \
            ((whole) || (row0) + row < (last)))                                                \
            (to)[i] =                                                                          \
                *(GLOBAL const type *)((from) + i * NEXT_OUTER(rows, along, w) * (INDEX)(ld)); \
        else                                                                                   \
            UNROLL for (int c = 0; c < (w); c++)(to)[i].v[c] = 0;                              \
    }                                                                                          \
    (from) += (along) ? BK * (i64)(ld) : BK;                                                   \
    if (TILE_AHEAD) /* others keep it for a tile alone */                                      \
        OPAQUE_POINTER(from);

#define STORE(to, type, from, rows, along, w, AT)                                              \
    UNROLL for (int i = 0; i < LOADS(rows, w); i++)                                            \
    {                                                                                          \
        const int outer = FIRST_OUTER(rows, along, w) + i * NEXT_OUTER(rows, along, w);        \
        const int inner = FIRST_INNER(rows, along, w);                                         \
        if (MINE(rows, w, i)) {                                                                \
            if (along)                                                                         \
                *(LOCAL type *)((to) + AT(outer) + inner) = (from)[i];                         \
            else                                                                               \
                UNROLL for (int c = 0; c < (w); c++)(to)[AT(inner + c) + outer] =              \
                    (from)[i].v[c];                                                            \
        }                                                                                      \
    }

#define FETCH_TILES(s, on)                                                                     \
    if (on) {                                                                                  \
        FETCH(next_x, vec_x, xs, BM, X_ALONG, VX, X_LD, m0, rows, WHOLE_M, k0 + (s)*BK)        \
        FETCH(next_y, vec_y, ys, BN, Y_ALONG, VY, Y_LD, n0, N, WHOLE_N, k0 + (s)*BK)           \
    }

#define STORE_TILES(to)                                                                        \
    STORE(to, vec_x, next_x, BM, X_ALONG, VX, TILE_A_AT)                                       \
    STORE((to) + X_TILE, vec_y, next_y, BN, Y_ALONG, VY, TILE_B_AT)

/* From one depth, or one row, to the next. */
#define X_LD (X_ALONG ? M : K) /* rows vary only where the operand lies row by row */
#define Y_LD (Y_ALONG ? N : K)

KERNEL_RESIDENT(ALL, 1, 1, RESIDENT)
matmul(GLOBAL const DTYPE *RESTRICT x, GLOBAL const DTYPE *RESTRICT y,
       GLOBAL DTYPE *RESTRICT out PRODUCT_PARAMETERS(DTYPE))
{
    SHARED(pool, MAX(STAGES * TILE, MEET) * ELEM);
    LOCAL DTYPE *const tile = (LOCAL DTYPE *)pool;
    const int thread = THREAD_X, slice = thread / THREADS, t = thread % THREADS;
    const int tx = t / (LX * LY) % (TX / LX) * LX + t % LX;
    const int ty = t / (LX * LY) / (TX / LX) * LY + t / LX % LY;
    const INDEX n0 = (INDEX)(BLOCK_X % CEIL_DIV(N, BN)) * BN;
    const INDEX m0 = (INDEX)(BLOCK_X / CEIL_DIV(N, BN)) * BM;
    const i64 batch = BLOCK_Y;
    const INDEX rows = B_VARIES && batch >= BATCHES ? 0 : (INDEX)ROWS;
    const bool idle = (M_VARIES || B_VARIES) && m0 >= rows;
    const INDEX k0 = (INDEX)BLOCK_Z * (STEPS * BK);
    const int left = (int)CEIL_DIV(K - k0, BK);
    const int steps = idle ? 0 : WHOLE_K ? STEPS : MIN(left, STEPS);
    GLOBAL const DTYPE *xs = x + (X_SHARED ? 0 : batch * rows * K) +
                             m0 * (X_ALONG ? 1 : (i64)K) + k0 * (X_ALONG ? (i64)M : 1) +
                             FIRST(BM, X_ALONG, VX, X_LD);
    GLOBAL const DTYPE *ys = y + (Y_SHARED ? 0 : batch * N * K) + n0 * (Y_ALONG ? 1 : (i64)K) +
                             k0 * (Y_ALONG ? (i64)N : 1) + FIRST(BN, Y_ALONG, VY, Y_LD);
    if (TILE_AHEAD) {
        OPAQUE_POINTER(xs);
        OPAQUE_POINTER(ys);
    }
    vec_x next_x[LOADS(BM, VX)];
    vec_y next_y[LOADS(BN, VY)];
    DTYPE acc[TM][TN];
    tile_clear(acc);
#define A0 TILE_A_AT(slice *TILE_DEPTH)
#define B0 (X_TILE + TILE_B_AT(slice * TILE_DEPTH))
    if (TILE_AHEAD) { /* slices meet where tiles were */
        TILE_PIPELINE(steps, tile, TILE, A0, B0, SLICES == 1, ty, tx, acc)
    } else {
        if (steps > 0) {
            FETCH_TILES(0, true)
            STORE_TILES(tile)
        }
        BARRIER();
        UNROLL_BY(1)
        for (int step = 0; step < steps; step++) {
            LOCAL const DTYPE *const now = tile + step % STAGES * TILE;
            const bool more = step + 1 < steps;
            FETCH_TILES(step + 1, more)
            tile_multiply(now + A0, now + B0, ty, tx, acc);
            if (STAGES == 1)
                BARRIER();
            if (more) {
                STORE_TILES(tile + (step + 1) % STAGES * TILE)
            }
            BARRIER();
        }
    }
#if SLICES > 1
    meet(tile, slice, t, acc);
#endif
    GLOBAL DTYPE *const to = out + ((i64)BLOCK_Z * (B * (i64)M) + batch * rows) * N;
    TILE_OUT(acc, to, batch * rows * N, m0, n0, rows, ty, tx, SLICES == 1 || slice == 0,
             WHOLE_M && !B_VARIES)
}

#if SPLITS > 1
#include "kernels/matmul/gpu/splits_gpu.kernel.h"
#endif
