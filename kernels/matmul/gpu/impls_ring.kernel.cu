/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The float32 product of kernels/matmul/gpu/impls_tile.kernel.cu for compute capability 8.0 and
 * later: tiles come into a ring of STAGES of them by asynchronous copies, so that no register waits
 * for memory and nothing is there for a compiler to move; what threads multiply is loaded one step
 * of depth ahead, across tiles, too. Of operands that lie row by row one is turned on its way, in
 * copies of 4 bytes: eight threads take eight depths of a row, and SKEW between depths puts the 32
 * places of a warp on 32 banks. The other one, of which a thread multiplies fewer rows, stays as
 * it lies, in copies of 16 bytes (QUAD_ROWS or QUAD_COLS), where rows are whole vectors.
 *
 * Of few rows SLICES groups of a block's threads take a part of each tile's depth, and their sums
 * meet in shared memory.
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
#define TILE_DEPTH (BK / SLICES) /* a multiple of 8 */
#define TILE_AHEAD (TM * TN < 64 || TM * TN >= 128 ? 1 : 2)
#include "kernels/matmul/gpu/slices_gpu.kernel.h"
#include "kernels/matmul/gpu/tile_gpu.kernel.h"
#include "kernels/matmul/gpu/tile_out_gpu.kernel.h"
#define TILE_STORE STORE_VECTOR
/* By the machine code of 64x128x8: apart, 44 of 1024 multiply-adds meet on a bank, else 14. */
#if OT_CC >= 90 && QUAD_ROWS + QUAD_COLS
#define TILE_SUM
#else
#define TILE_SUM APART
#endif

#define ALL (THREADS * SLICES) /* threads of a block */
#define X_TILE TILE_A_AT(BK)
#define TILE (X_TILE + TILE_B_AT(BK))
#define STEPS CEIL_DIV(CEIL_DIV(K, BK), SPLITS) /* of one block */
#define WHOLE_K (K % (BK * SPLITS) == 0)
#define WHOLE_M (!M_VARIES && M % BM == 0)
#define WHOLE_N (N % BN == 0)
#define TURNED 8 /* depths of a row that lie side by side in a warp */

/* BK of depth of `count` rows that are `ld` apart, of which this thread's first copy goes from
 * `from` to `to`; `left` of the depth and `have` of the rows are inside. */
INLINE void fill_turned(LOCAL float *to, GLOBAL const float *from, const int count,
                        const int pitch, const INDEX ld, INDEX left, INDEX have,
                        const bool whole)
{
    /* Copies take small constants alone: what is further away is a multiply-add, which is one
     * instruction where an addition of 64 bits is two. */
    const u32 one = OPAQUE_ONE();
    const bool near = ld < 1 << 20; /* in bytes of 32 bits */
    const int k = THREAD_X % TURNED, r = THREAD_X / TURNED;
    const int lines = CEIL_DIV(count, ALL / TURNED), all = lines * (BK / TURNED);
    UNROLL
    for (int c = 0; c < all; c++) {
        const int h = c / lines * TURNED, i = c % lines * (ALL / TURNED);
        const bool inside = (WHOLE_K || k + h < left) && (whole || r + i < have);
        GLOBAL const float *const line =
            near ? (GLOBAL const float *)((GLOBAL const char *)from +
                                          (u64)one * (u32)(i * ld * ELEM))
                 : from + i * ld;
        if (count % (ALL / TURNED) == 0 || r + i < count)
            cp_async_4_zero(to + h * pitch + i, line + h, inside ? 4 : 0);
    }
}

/* The same of an operand that lies depth by depth, in vectors of v. */
INLINE void fill_along(LOCAL float *to, GLOBAL const float *from, const int count, const int v,
                       const INDEX ld, INDEX left, INDEX have, const bool whole)
{
    const int line = count / v, all = CEIL_DIV(BK * line, ALL); /* line: copies of a depth */
    UNROLL
    for (int c = 0; c < all; c++) {
        const int e = THREAD_X + c * ALL, k = e / line, r = e % line * v;
        const bool inside = (WHOLE_K || k < left) && (whole || r < have);
        if (BK * line % ALL == 0 || e < BK * line) {
            if (v == 4)
                cp_async_16_zero(to + k * count + r, from + k * ld + r, inside ? 16 : 0);
            else if (v == 2)
                cp_async_8_zero(to + k * count + r, from + k * ld + r, inside ? 8 : 0);
            else
                cp_async_4_zero(to + k * count + r, from + k * ld + r, inside ? 4 : 0);
        }
    }
}

/* The same as quads (tile_gpu.kernel.h): neighbours take two of a row. */
INLINE void fill_quads(LOCAL float *to, GLOBAL const float *from, const int count,
                       const int chunk, const INDEX ld, INDEX left, INDEX have,
                       const bool whole)
{
    const u32 one = OPAQUE_ONE();
    const bool near = ld < 1 << 20;
    const int k = THREAD_X % 2 * 4, r = THREAD_X / 2;
    const int lines = CEIL_DIV(count, ALL / 2), all = lines * (BK / 8);
    UNROLL
    for (int c = 0; c < all; c++) {
        const int h = c / lines * 8, i = c % lines * (ALL / 2);
        const bool inside = (WHOLE_K || k + h < left) && (whole || r + i < have);
        GLOBAL const float *const line =
            near ? (GLOBAL const float *)((GLOBAL const char *)from +
                                          (u64)one * (u32)(i * ld * ELEM))
                 : from + i * ld;
        if (count % (ALL / 2) == 0 || r + i < count)
            cp_async_16_zero(to + 4 * (QUAD_AT(h / 4, count, chunk) + i / chunk), line + h,
                             inside ? 16 : 0);
    }
}

/* Of an operand that lies row by row: where a thread's first copy lies, and goes. */
#define QUAD_FROM(ld) (THREAD_X / 2 * (INDEX)(ld) + THREAD_X % 2 * 4)
#define QUAD_TO(rows, chunk)                                                                   \
    (QUAD_AT(THREAD_X % 2, rows, chunk) + THREAD_X / 2 % (chunk)*QUAD_LINE(rows, chunk) +      \
     THREAD_X / 2 / (chunk))
#define TURNED_FROM(ld) (THREAD_X / TURNED * (INDEX)(ld) + THREAD_X % TURNED)
#define TURNED_TO(pitch) (THREAD_X % TURNED * (pitch) + THREAD_X / TURNED)

#if X_ALONG
#define X_NEXT (BK * (i64)M)
#define X_FROM 0
#define X_TO 0
#define FILL_X(to, k) fill_along(to, xs, BM, VX, M, depth - (k), rows - m0, WHOLE_M);
#elif QUAD_ROWS
#define X_NEXT BK
#define X_FROM QUAD_FROM(K)
#define X_TO (4 * QUAD_TO(BM, CM))
#define FILL_X(to, k) fill_quads(to, xs, BM, CM, K, depth - (k), rows - m0, WHOLE_M);
#else
#define X_NEXT BK
#define X_FROM TURNED_FROM(K)
#define X_TO TURNED_TO(X_PITCH)
#define FILL_X(to, k) fill_turned(to, xs, BM, X_PITCH, K, depth - (k), rows - m0, WHOLE_M);
#endif
#if Y_ALONG
#define Y_NEXT (BK * (i64)N)
#define Y_FROM 0
#define Y_TO 0
#define FILL_Y(to, k) fill_along(to, ys, BN, VY, N, depth - (k), N - n0, WHOLE_N);
#elif QUAD_COLS
#define Y_NEXT BK
#define Y_FROM QUAD_FROM(K)
#define Y_TO (4 * QUAD_TO(BN, CN))
#define FILL_Y(to, k) fill_quads(to, ys, BN, CN, K, depth - (k), N - n0, WHOLE_N);
#else
#define Y_NEXT BK
#define Y_FROM TURNED_FROM(K)
#define Y_TO TURNED_TO(Y_PITCH)
#define FILL_Y(to, k) fill_turned(to, ys, BN, Y_PITCH, K, depth - (k), N - n0, WHOLE_N);
#endif

#define NEXT_TILES()                                                                           \
    xs += X_NEXT;                                                                              \
    ys += Y_NEXT;                                                                              \
    OPAQUE_POINTER(xs);                                                                        \
    OPAQUE_POINTER(ys);

KERNEL_RESIDENT(ALL, 1, 1, RESIDENT)
matmul(GLOBAL const DTYPE *RESTRICT x, GLOBAL const DTYPE *RESTRICT y,
       GLOBAL DTYPE *RESTRICT out PRODUCT_PARAMETERS(DTYPE))
{
    SHARED(pool, MAX(STAGES * TILE, MEET) * ELEM);
    LOCAL float *const ring = (LOCAL float *)pool;
    const int slice = THREAD_X / THREADS, t = THREAD_X % THREADS;
    const int tx = t / (LX * LY) % (TX / LX) * LX + t % LX;
    const int ty = t / (LX * LY) / (TX / LX) * LY + t / LX % LY;
    const INDEX n0 = (INDEX)(BLOCK_X % CEIL_DIV(N, BN)) * BN;
    const INDEX m0 = (INDEX)(BLOCK_X / CEIL_DIV(N, BN)) * BM;
    const i64 batch = BLOCK_Y;
    const INDEX rows = B_VARIES && batch >= BATCHES ? 0 : (INDEX)ROWS;
    const bool idle = (M_VARIES || B_VARIES) && m0 >= rows;
    const INDEX k0 = (INDEX)BLOCK_Z * (STEPS * BK), depth = K - k0;
    const int left = (int)CEIL_DIV(depth, BK);
    int steps = idle ? 0 : WHOLE_K ? STEPS : MIN(left, STEPS);
    OPAQUE_INT(steps);
    GLOBAL const float *xs = x + (X_SHARED ? 0 : batch * rows * K) +
                             (X_ALONG ? m0 + k0 * (i64)M : m0 * (i64)K + k0) + X_FROM;
    GLOBAL const float *ys = y + (Y_SHARED ? 0 : batch * N * K) +
                             (Y_ALONG ? n0 + k0 * (i64)N : n0 * (i64)K + k0) + Y_FROM;
    LOCAL const float *const a =
        ring + TILE_A_AT(slice * TILE_DEPTH) + ty * (QUAD_ROWS ? 4 : CM);
    LOCAL const float *const b =
        ring + X_TILE + TILE_B_AT(slice * TILE_DEPTH) + tx * (QUAD_COLS ? 4 : CN);
    LOCAL float *const to_x = ring + X_TO, *const to_y = ring + X_TILE + Y_TO;
    tile_fragments f;
    float acc[TM][TN];
    int read = 0, write = STAGES - 1;
    tile_clear(acc);
    UNROLL
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) {
            FILL_X(to_x + s * TILE, (INDEX)s * BK)
            FILL_Y(to_y + s * TILE, (INDEX)s * BK)
        }
        NEXT_TILES()
        cp_async_commit();
    }
    CP_ASYNC_WAIT(STAGES - 2);
    BARRIER();
    if (steps > 0)
        tile_begin(&f, a, b);
    UNROLL_BY(1)
    for (int step = 0; step < steps; step++) {
        const INDEX ahead = (INDEX)(step + STAGES - 1) * BK;
        const bool more = step + STAGES - 1 < steps;
        UNROLL
        for (int k = 0; k < TILE_DEPTH - TILE_AHEAD; k++) {
            tile_step(&f, a + read * TILE, b + read * TILE, k, acc);
            if (k == QUAD_ROWS + QUAD_COLS && more) {
                FILL_X(to_x + write * TILE, ahead)
                FILL_Y(to_y + write * TILE, ahead)
            }
        }
        NEXT_TILES()
        cp_async_commit();
        CP_ASYNC_WAIT(STAGES - 2);
        BARRIER();
        tile_rest(&f, acc);
        write = read;
        if (step + 1 < steps) /* what is loaded behind the last tile is not used */
            read = read + 1 == STAGES ? 0 : read + 1;
        tile_begin(&f, a + read * TILE, b + read * TILE);
        tile_last(&f, acc);
    }
    CP_ASYNC_WAIT(0);
#if SLICES > 1
    BARRIER(); /* slices meet where tiles were */
    meet(ring, slice, t, acc);
#endif
    GLOBAL DTYPE *const to = out + ((i64)BLOCK_Z * (B * (i64)M) + batch * rows) * N;
    TILE_OUT(acc, to, batch * rows * N, m0, n0, rows, ty, tx, SLICES == 1 || slice == 0,
             WHOLE_M && !B_VARIES)
}

#if SPLITS > 1
#include "kernels/matmul/gpu/splits_gpu.kernel.h"
#endif
