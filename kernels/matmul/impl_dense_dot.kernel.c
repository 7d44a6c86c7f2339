/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_dot.cpu: products of narrow numbers in a tile of registers. Macros from the plan: M N,
 * BIAS, PACK_DATA (rows become words first), ROW_TILES (tiles of one task), those of
 * kernels/matmul/dot.kernel.h.
 */
#include "kernels/matmul/dot.kernel.h"

#define PANELS CEIL_DIV(N, DOT_NR)
#define TILES CEIL_DIV(M, DOT_MR)
#define LAST_COLS (N - (PANELS - 1) * DOT_NR)
#define LAST_ROWS (M - (TILES - 1) * DOT_MR)

/* arg: weight [N][K], its panels */
void pack_weight(void *const *arg)
{
    const IN_T *weight = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR
    for (i64 p = 0; p < PANELS; p++) {
        const IN_T *from = weight + p * DOT_NR * K;
        u32 *to = packed + p * PANEL_WORDS;
        const int cols = (int)MIN(DOT_NR, N - p * DOT_NR);
        if (OFFSETS)
            dot_offsets(to, from, cols);
        dot_pack_panel(to + OFFSETS * DOT_NR, from, cols, K_WORDS);
    }
}

#if PACK_DATA
/* arg: data [M][K], its words [M][K_WORDS] */
void pack_data(void *const *arg)
{
    const IN_T *data = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR
    for (i64 i = 0; i < M; i++)
        dot_pack_row(packed + i * K_WORDS, data + i * K, K_WORDS);
}
#endif

/* The output from out[o] on. */
INLINE void tile(const word_at *a, const u32 *panel, const OUT_T *bias, OUT_T *out, i64 o,
                 const int rows, const int cols, void *const *arg)
{
    dot_acc acc;
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < DOT_NV; j++)
            acc[i][j] = OFFSETS ? (vec) * (const words_at *)(panel + j * VLEN) : (vec){0};
    }
    dot_mac(acc, rows, K_WORDS, a, K_WORDS, 1, panel + OFFSETS * DOT_NR, DOT_NR);
#if EPILOGUE
    /* One instance of what is fused, and one for ragged columns. */
    vec done[DOT_MR][DOT_NV];
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < DOT_NV; j++)
            done[i][j] = acc[i][j];
    }
    UNROLL(1)
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < DOT_NV && j * VLEN < cols; j++)
            dot_store(out, o + i * N + j * VLEN, done[i][j], BIAS ? bias + j * VLEN : 0,
                      MIN(VLEN, cols - j * VLEN), arg);
    }
    return;
#endif
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < DOT_NV; j++)
            if (j * VLEN < cols)
                dot_store(out, o + i * N + j * VLEN, acc[i][j], BIAS ? bias + j * VLEN : 0,
                          MIN(VLEN, cols - j * VLEN), arg);
    }
}

/* arg: data or its words, panels, out, bias if BIAS */
void dot(void *const *arg)
{
    const word_at *data = arg[0];
    const u32 *packed = arg[1];
    OUT_T *out = arg[2];
    const OUT_T *bias = BIAS ? arg[3] : 0;
    PARALLEL_FOR_N(2)
    for (i64 p = 0; p < PANELS; p++)
        for (i64 t0 = 0; t0 < TILES; t0 += ROW_TILES)
            for (i64 t = t0; t < MIN(t0 + ROW_TILES, TILES); t++) {
                const word_at *a = data + t * DOT_MR * K_WORDS;
                const u32 *b = packed + p * PANEL_WORDS;
                const OUT_T *add = BIAS ? bias + p * DOT_NR : 0;
                const i64 o = t * DOT_MR * N + p * DOT_NR;
                const int full = M % DOT_MR == 0 || t < TILES - 1;
                const int whole = N % DOT_NR == 0 || p < PANELS - 1;
                if (full && whole)
                    tile(a, b, add, out, o, DOT_MR, DOT_NR, arg);
                else if (full)
                    tile(a, b, add, out, o, DOT_MR, LAST_COLS, arg);
                else if (whole)
                    tile(a, b, add, out, o, LAST_ROWS, DOT_NR, arg);
                else
                    tile(a, b, add, out, o, LAST_ROWS, LAST_COLS, arg);
            }
}
