/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_gemm.cpu: a blocked GEMM over packed panels of the weight. Macros from the plan: M N K,
 * BIAS, GEMM_MR GEMM_NV GEMM_KU GEMM_AHEAD (the tile), KC (depth of a block), ROW_TILES and
 * COL_PANELS (tiles and panels of one task), ROWS_INNER (which loop reuses what the L1 holds),
 * PACK_DATA, NEXT_PANEL (all tiles of a panel together prefetch the next one to the L2).
 *
 * A packed weight is [panel][K][GEMM_NR], packed data is [strip][K][GEMM_MR] with strips
 * DATA_STRIP elements apart (the slack takes the zeros that packing writes beyond a strip).
 */
#include "kernels/common/gemm.h"

#define PANELS CEIL_DIV(N, GEMM_NR)
#define TILES CEIL_DIV(M, GEMM_MR)
#define SHARERS MIN(ROW_TILES, TILES)
#define DATA_STRIP (CEIL_DIV(K * GEMM_MR, VLEN) * VLEN + VLEN)

#if PACK_DATA
#define A_ROW 1
#define A_K GEMM_MR
#define A_TILE ((i64)DATA_STRIP)
#else
#define A_ROW K
#define A_K 1
#define A_TILE ((i64)GEMM_MR * K)
#endif

/* arg: weight [N][K], packed weight */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *packed = arg[1];
    PARALLEL_FOR
    for (i64 p = 0; p < PANELS; p++) {
        DTYPE *to = packed + p * K * GEMM_NR;
        const DTYPE *from = weight + p * GEMM_NR * K;
        if ((p + 1) * GEMM_NR <= N)
            gemm_pack_bt(to, from, K, GEMM_NR, K);
        else
            gemm_pack_bt(to, from, K, N % GEMM_NR, K);
    }
}

#if PACK_DATA
/* arg: data [M][K], packed data */
void pack_data(void *const *arg)
{
    const DTYPE *data = arg[0];
    DTYPE *packed = arg[1];
    PARALLEL_FOR
    for (i64 t = 0; t < TILES; t++) {
        DTYPE *to = packed + t * DATA_STRIP;
        const DTYPE *from = data + t * GEMM_MR * K;
        if ((t + 1) * GEMM_MR <= M)
            gemm_pack_a(to, from, K, GEMM_MR, K);
        else
            gemm_pack_a(to, from, K, M % GEMM_MR, K);
    }
}
#endif

/* `next` is this tile's share of the panel to come. */
INLINE void tile(const DTYPE *a, const DTYPE *b, const DTYPE *bias, DTYPE *c, const int rows,
                 const int cols, const int first, i64 depth, const DTYPE *next)
{
    gemm_acc acc;
    if (first)
        gemm_start(acc, rows, bias, cols);
    else
        gemm_load(acc, rows, c, N, cols);
    i64 k = 0;
    for (; NEXT_PANEL && k + SHARERS <= depth; k += SHARERS) {
        UNROLL(64)
        for (int j = 0; j < GEMM_NV; j++)
            __builtin_prefetch(next + k / SHARERS * GEMM_NR + j * VLEN, 0, 2);
        gemm_mac(acc, rows, SHARERS, a + k * A_K, A_ROW, A_K, b + k * GEMM_NR, GEMM_NR);
    }
    gemm_mac(acc, rows, depth - k, a + k * A_K, A_ROW, A_K, b + k * GEMM_NR, GEMM_NR);
    gemm_store(acc, rows, c, N, cols);
}

/* One tile; ragged edges and the first block of depth are instances of their own. */
INLINE void tile_at(i64 t, i64 p, const DTYPE *data, const DTYPE *packed, const DTYPE *bias,
                    DTYPE *out, i64 k0, const int first, i64 depth)
{
    const DTYPE *a = data + t * A_TILE + k0 * A_K;
    const DTYPE *b = packed + (p * K + k0) * GEMM_NR;
    const DTYPE *add = BIAS ? bias + p * GEMM_NR : 0;
    DTYPE *c = out + t * GEMM_MR * N + p * GEMM_NR;
    const DTYPE *next = b + K * GEMM_NR + (t % SHARERS) * (depth / SHARERS) * GEMM_NR;
    const int full_rows = M % GEMM_MR == 0 || (t + 1) * GEMM_MR <= M;
    const int full_cols = N % GEMM_NR == 0 || (p + 1) * GEMM_NR <= N;
    if (full_rows && full_cols)
        tile(a, b, add, c, GEMM_MR, GEMM_NR, first, depth, next);
    else if (full_rows)
        tile(a, b, add, c, GEMM_MR, N % GEMM_NR, first, depth, next);
    else if (full_cols)
        tile(a, b, add, c, M % GEMM_MR, GEMM_NR, first, depth, next);
    else
        tile(a, b, add, c, M % GEMM_MR, N % GEMM_NR, first, depth, next);
}

INLINE void block(i64 t0, i64 p0, const DTYPE *data, const DTYPE *packed, const DTYPE *bias,
                  DTYPE *out, i64 k0, const int first, i64 depth)
{
    const i64 t1 = MIN(t0 + ROW_TILES, TILES), p1 = MIN(p0 + COL_PANELS, PANELS);
#if ROWS_INNER
    for (i64 p = p0; p < p1; p++)
        for (i64 t = t0; t < t1; t++)
#else
    for (i64 t = t0; t < t1; t++)
        for (i64 p = p0; p < p1; p++)
#endif
            tile_at(t, p, data, packed, bias, out, k0, first, depth);
}

/* arg: data or packed data, packed weight, out, bias if BIAS */
void gemm(void *const *arg)
{
    const DTYPE *data = arg[0], *packed = arg[1], *bias = BIAS ? arg[3] : 0;
    DTYPE *out = arg[2];
    PARALLEL_FOR_N(2)
    for (i64 p0 = 0; p0 < PANELS; p0 += COL_PANELS)
        for (i64 t0 = 0; t0 < TILES; t0 += ROW_TILES) {
            block(t0, p0, data, packed, bias, out, 0, 1, MIN(KC, K));
            for (i64 k0 = KC; k0 < K; k0 += KC)
                block(t0, p0, data, packed, bias, out, k0, 0, MIN(KC, K - k0));
        }
}
