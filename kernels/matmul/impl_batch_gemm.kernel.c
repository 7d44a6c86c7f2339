/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul_gemm.cpu: register tiles over panels of y. Macros from the plan: B M (at most,
 * where B_VARIES, M_VARIES) N K,
 * X_BATCH Y_BATCH X_ROW X_K Y_COL Y_K (strides), GEMM_MR GEMM_NV GEMM_KU (the tile), KC (depth
 * of a block), and where panels come from: PACKED_BEFORE (a stage of its own packed them all),
 * DIRECT (whole panels are read in place, only a ragged last one is packed), or else each task
 * packs the panel it uses.
 *
 * A task is one panel of one batch and all rows; its panel lives in the thread's own part of
 * the scratch, small enough to be in a cache when it is used.
 */
#include "kernels/matmul/gemm.kernel.h"

#define PANELS CEIL_DIV(N, GEMM_NR)
#define PANEL ((i64)K * GEMM_NR)

/* Arguments at the end of a stage: batches if B_VARIES, then rows if M_VARIES. */
#define BATCHES(arg) (B_VARIES ? *(const i64 *)*(arg) : B)
#define ROWS(arg) (M_VARIES ? *(const i64 *)(arg)[B_VARIES] : M)

INLINE void pack(DTYPE *to, const DTYPE *y, const int cols)
{
#if Y_K == 1
    gemm_pack_bt(to, y, Y_COL, cols, K);
#else
    gemm_pack_b(to, y, Y_K, cols, K);
#endif
}

INLINE void pack_panel(DTYPE *to, const DTYPE *y, i64 p)
{
    const DTYPE *from = y + p * GEMM_NR * Y_COL;
    if (N % GEMM_NR == 0 || (p + 1) * GEMM_NR <= N)
        pack(to, from, GEMM_NR);
    else
        pack(to, from, N % GEMM_NR);
}

#if PACKED_BEFORE
/* arg: y, packed y, batches if B_VARIES and y has them */
void pack_y(void *const *arg)
{
    const DTYPE *y = arg[0];
    DTYPE *packed = arg[1];
    const i64 batches = Y_BATCH ? BATCHES(arg + 2) : 1;
    PARALLEL_FOR_N(2)
    for (i64 b = 0; b < batches; b++)
        for (i64 p = 0; p < PANELS; p++)
            pack_panel(packed + (b * PANELS + p) * PANEL, y + b * Y_BATCH, p);
}
#endif

INLINE void tile(const DTYPE *x, const DTYPE *panel, i64 panel_k, DTYPE *out, const int rows,
                 const int cols, i64 k0, void *const *arg)
{
    gemm_acc acc;
    if (k0 == 0)
        gemm_start(acc, rows, 0, cols);
    else
        gemm_load(acc, rows, out, N, cols);
    gemm_mac(acc, rows, MIN(KC, K - k0), x + k0 * X_K, X_ROW, X_K, panel + k0 * panel_k,
             panel_k);
    if (EPILOGUE && K - k0 <= KC)
        gemm_finish(acc, rows, out, N, cols, arg, out - (const DTYPE *)arg[2]);
    else
        gemm_store(acc, rows, out, N, cols);
}

#if M_VARIES
static __attribute__((noinline)) void tile_of(int rows, const DTYPE *x, const DTYPE *panel,
                                              i64 panel_k, DTYPE *out, int whole, i64 k0,
                                              void *const *arg)
{
    switch (rows) {
#define CASE(r)                                                                                \
    case r:                                                                                    \
        if (r <= GEMM_MR && whole)                                                             \
            tile(x, panel, panel_k, out, MIN(r, GEMM_MR), GEMM_NR, k0, arg);                   \
        else if (r <= GEMM_MR)                                                                 \
            tile(x, panel, panel_k, out, MIN(r, GEMM_MR), N % GEMM_NR, k0, arg);               \
        break;
        GEMM_EACH_ROWS(CASE)
    }
}
#endif

/* All rows of one panel; at run time they are shared evenly among the tiles. */
INLINE void column(const DTYPE *x, const DTYPE *panel, i64 panel_k, DTYPE *out, const int cols,
                   i64 m, void *const *arg)
{
    for (i64 k0 = 0; k0 < K; k0 += KC) {
        i64 i = 0;
#if M_VARIES
        const i64 tiles = CEIL_DIV(m, GEMM_MR);
        for (i64 t = 0; t < tiles; t++) {
            const int rows = m / tiles + (t < m % tiles);
            tile_of(rows, x + i * X_ROW, panel, panel_k, out + i * N, cols == GEMM_NR, k0, arg);
            i += rows;
        }
#else
        for (; i + GEMM_MR <= M; i += GEMM_MR)
            tile(x + i * X_ROW, panel, panel_k, out + i * N, GEMM_MR, cols, k0, arg);
        if (M % GEMM_MR)
            tile(x + i * X_ROW, panel, panel_k, out + i * N, M % GEMM_MR, cols, k0, arg);
#endif
    }
}

/* arg: x, y or packed y, out, panels of the threads unless PACKED_BEFORE, then what varies */
void matmul(void *const *arg)
{
    const DTYPE *x = arg[0], *y = arg[1];
    DTYPE *out = arg[2];
    void *const *dims = arg + (PACKED_BEFORE ? 3 : 4);
    const i64 batches = BATCHES(dims), m = ROWS(dims);
    const i64 x_batch = X_BATCH ? m * K : 0;
    PARALLEL_FOR_N(2)
    for (i64 b = 0; b < batches; b++)
        for (i64 p = 0; p < PANELS; p++) {
            const int whole = N % GEMM_NR == 0 || (p + 1) * GEMM_NR <= N;
            const DTYPE *xb = x + b * x_batch;
            DTYPE *to = out + b * m * N + p * GEMM_NR;
#if PACKED_BEFORE
            const DTYPE *panel = y + ((Y_BATCH ? b : 0) * PANELS + p) * PANEL;
#else
            const DTYPE *yb = y + b * Y_BATCH;
#if DIRECT
            if (whole) {
                column(xb, yb + p * GEMM_NR, Y_K, to, GEMM_NR, m, arg);
                continue;
            }
#endif
            DTYPE *panel = (DTYPE *)arg[3] + THREAD * PANEL;
            pack_panel(panel, yb, p);
#endif
            if (whole)
                column(xb, panel, GEMM_NR, to, GEMM_NR, m, arg);
            else
                column(xb, panel, GEMM_NR, to, N % GEMM_NR, m, arg);
        }
}
