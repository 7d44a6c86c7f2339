/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul_gemm.cpu: register tiles over panels of y. Macros from the plan: B M N K (at most,
 * where B_VARIES, M_VARIES ...), X_BATCH Y_BATCH (0: one matrix for all batches), TRANSPOSE_A
 * TRANSPOSE_B, GEMM_MR GEMM_NV GEMM_KU (the tile), KC (depth of a block), and where panels come
 * from: PACKED_BEFORE (a stage of its own packed them all), DIRECT (whole panels are read in
 * place, only a ragged last one is packed), or else each task packs the panel it uses.
 *
 * A task is one panel of one batch and all rows; its panel lives in the thread's own part of
 * the scratch, small enough to be in a cache when it is used.
 */
#include "kernels/matmul/gemm.kernel.h"

/* Arguments at the end of a stage: what varies of batches, columns, depth and rows. */
#define BATCHES(arg) (B_VARIES ? *(const i64 *)(arg)[0] : B)
#define COLUMNS(arg) (N_VARIES ? *(const i64 *)(arg)[B_VARIES] : N)
#define DEPTH(arg) (K_VARIES ? *(const i64 *)(arg)[B_VARIES + N_VARIES] : K)
#define ROWS(arg) (M_VARIES ? *(const i64 *)(arg)[B_VARIES + N_VARIES + K_VARIES] : M)

/* Of one product; constants where they do not vary. */
typedef struct sizes {
    i64 m, n, k;
} sizes;

#define PANELS(s) CEIL_DIV((s).n, GEMM_NR)
#define PANEL(s) ((s).k * GEMM_NR)
#define X_ROW(s) (TRANSPOSE_A ? 1 : (s).k)
#define X_K(s) (TRANSPOSE_A ? (s).m : 1)
#define Y_COL(s) (TRANSPOSE_B ? (s).k : 1)
#define Y_K(s) (TRANSPOSE_B ? 1 : (s).n)

INLINE void pack(DTYPE *to, const DTYPE *y, const int cols, sizes s)
{
    if (TRANSPOSE_B)
        gemm_pack_bt(to, y, Y_COL(s), cols, s.k);
    else
        gemm_pack_b(to, y, Y_K(s), cols, s.k);
}

INLINE void pack_panel(DTYPE *to, const DTYPE *y, i64 p, sizes s)
{
    const DTYPE *from = y + p * GEMM_NR * Y_COL(s);
    if (s.n % GEMM_NR == 0 || (p + 1) * GEMM_NR <= s.n)
        pack(to, from, GEMM_NR, s);
    else
        pack(to, from, s.n % GEMM_NR, s);
}

#if PACKED_BEFORE
/* arg: y, packed y, what varies but the rows; of a constant y nothing does */
void pack_y(void *const *arg)
{
    const DTYPE *y = arg[0];
    DTYPE *packed = arg[1];
    const i64 batches = Y_BATCH ? BATCHES(arg + 2) : 1;
    const sizes s = {0, COLUMNS(arg + 2), DEPTH(arg + 2)};
    PARALLEL_FOR_N(2)
    for (i64 b = 0; b < batches; b++)
        for (i64 p = 0; p < PANELS(s); p++)
            pack_panel(packed + (b * PANELS(s) + p) * PANEL(s), y + b * s.n * s.k, p, s);
}
#endif

/* `ld`: from one row of `out` to the next; `last`: what is fused is applied. */
INLINE void tile(const DTYPE *x, const DTYPE *panel, i64 panel_k, DTYPE *out, i64 ld,
                 const int rows, const int cols, i64 k0, sizes s, const int last,
                 void *const *arg)
{
    gemm_acc acc;
    if (k0 == 0)
        gemm_start(acc, rows, 0, cols);
    else
        gemm_load(acc, rows, out, ld, cols);
    gemm_mac(acc, rows, MIN(KC, s.k - k0), x + k0 * X_K(s), X_ROW(s), X_K(s),
             panel + k0 * panel_k, panel_k);
    if (EPILOGUE && last)
        gemm_finish(acc, rows, out, ld, cols, arg, out - (const DTYPE *)arg[2]);
    else
        gemm_store(acc, rows, out, ld, cols);
}

#if M_VARIES || N_VARIES
/* The same, of rows that are known at run time. */
static __attribute__((noinline)) void tile_of(int rows, const DTYPE *x, const DTYPE *panel,
                                              i64 panel_k, DTYPE *out, i64 ld, int whole,
                                              i64 k0, sizes s, int last, void *const *arg)
{
    switch (rows) {
#define CASE(r)                                                                                \
    case r:                                                                                    \
        if (r <= GEMM_MR && (whole || N_VARIES))                                               \
            tile(x, panel, panel_k, out, ld, MIN(r, GEMM_MR), GEMM_NR, k0, s, last, arg);      \
        else if (r <= GEMM_MR)                                                                 \
            tile(x, panel, panel_k, out, ld, MIN(r, GEMM_MR), N % GEMM_NR, k0, s, last, arg);  \
        break;
        GEMM_EACH_ROWS(CASE)
    }
}
#endif

#if N_VARIES
INLINE void copy_rows(DTYPE *to, i64 to_row, const DTYPE *from, i64 from_row, int rows,
                      i64 cols)
{
    for (int i = 0; i < rows; i++, to += to_row, from += from_row) {
        i64 j = 0;
        for (; j + VLEN <= cols; j += VLEN)
            store(to + j, load(from + j));
        for (; j < cols; j++)
            to[j] = from[j];
    }
}

/* The same, of `cols` columns that are known at run time: whole tiles beside the output. */
static __attribute__((noinline)) void edge(int rows, const DTYPE *x, const DTYPE *panel,
                                           i64 panel_k, DTYPE *out, i64 cols, i64 k0, sizes s,
                                           int last, void *const *arg)
{
    DTYPE room[GEMM_MR * GEMM_NR] __attribute__((aligned(64)));
    if (k0 > 0)
        copy_rows(room, GEMM_NR, out, s.n, rows, cols);
    tile_of(rows, x, panel, panel_k, room, GEMM_NR, 1, k0, s, 0, arg);
    copy_rows(out, s.n, room, GEMM_NR, rows, cols);
    if (last)
        epilogue_rows(out, s.n, rows, cols, arg, out - (const DTYPE *)arg[2]);
}
#endif

/* All rows of one panel; at run time they are shared evenly among the tiles. */
INLINE void column(const DTYPE *x, const DTYPE *panel, i64 panel_k, DTYPE *out, const int cols,
                   sizes s, void *const *arg)
{
    for (i64 k0 = 0; k0 < s.k; k0 += KC) {
        const int last = s.k - k0 <= KC;
        i64 i = 0;
#if M_VARIES || N_VARIES
        const i64 tiles = CEIL_DIV(s.m, GEMM_MR);
        for (i64 t = 0; t < tiles; t++) {
            const int rows = s.m / tiles + (t < s.m % tiles);
            const DTYPE *xi = x + i * X_ROW(s);
            DTYPE *to = out + i * s.n;
#if N_VARIES
            if (cols < GEMM_NR)
                edge(rows, xi, panel, panel_k, to, cols, k0, s, last, arg);
            else
#endif
                tile_of(rows, xi, panel, panel_k, to, s.n, cols == GEMM_NR, k0, s, last, arg);
            i += rows;
        }
#else
        for (; i + GEMM_MR <= M; i += GEMM_MR)
            tile(x + i * X_ROW(s), panel, panel_k, out + i * N, N, GEMM_MR, cols, k0, s, last,
                 arg);
        if (M % GEMM_MR)
            tile(x + i * X_ROW(s), panel, panel_k, out + i * N, N, M % GEMM_MR, cols, k0, s,
                 last, arg);
#endif
    }
}

/* arg: x, y or packed y, out, panels of the threads unless PACKED_BEFORE, then what varies */
void matmul(void *const *arg)
{
    const DTYPE *x = arg[0], *y = arg[1];
    DTYPE *out = arg[2];
    void *const *dims = arg + (PACKED_BEFORE ? 3 : 4);
    const i64 batches = BATCHES(dims);
    const sizes s = {ROWS(dims), COLUMNS(dims), DEPTH(dims)};
    PARALLEL_FOR_N(2)
    for (i64 b = 0; b < batches; b++)
        for (i64 p = 0; p < PANELS(s); p++) {
            const int whole = s.n % GEMM_NR == 0 || (p + 1) * GEMM_NR <= s.n;
            const DTYPE *xb = X_BATCH ? x + b * s.m * s.k : x;
            DTYPE *to = out + b * s.m * s.n + p * GEMM_NR;
#if PACKED_BEFORE
            const DTYPE *panel = y + ((Y_BATCH ? b : 0) * PANELS(s) + p) * PANEL(s);
#else
            const DTYPE *yb = Y_BATCH ? y + b * s.n * s.k : y;
#if DIRECT
            if (whole) {
                column(xb, yb + p * GEMM_NR, Y_K(s), to, GEMM_NR, s, arg);
                continue;
            }
#endif
            DTYPE *panel = (DTYPE *)arg[3] + THREAD * ((i64)K * GEMM_NR);
            pack_panel(panel, yb, p, s);
#endif
            if (whole)
                column(xb, panel, GEMM_NR, to, GEMM_NR, s, arg);
            else
                column(xb, panel, GEMM_NR, to, s.n % GEMM_NR, s, arg);
        }
}
