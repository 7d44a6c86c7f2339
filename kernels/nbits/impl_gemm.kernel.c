/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits_gemm.cpu: many rows of data. A block of the weight, BLOCK_GROUPS groups deep and
 * COL_PANELS panels wide, becomes floats in a buffer of the thread's own and meets ROW_TILES tiles
 * of rows in the tile of kernels/matmul/gemm.kernel.h.
 */
#include "kernels/nbits/nbits_cpu.kernel.h"

#define BLOCKS CEIL_DIV(GROUPS, BLOCK_GROUPS)
#define PANEL (BLOCK_GROUPS * GROUP * GEMM_NR) /* elements of a panel's buffer */

/* to[k][GEMM_NR] = a group's weights as floats */
INLINE void unpack(DTYPE *to, const byte *from, const i64 depth)
{
    UNROLL(64)
    for (int v = 0; v < GEMM_NV; v++) {
        const zeros z = zeros_of(from, v);
        const vec scale = scales_of(from, v);
        DTYPE *at = to + v * VLEN;
        UNROLL(1)
        for (i64 w = 0; w < depth / PER; w++, at += PER * GEMM_NR) {
            const words word = words_of(from, w, v), high = word >> 16;
            UNROLL(64)
            for (int i = 0; i < PER; i++)
                store(at + i * GEMM_NR, levels(word, high, i, &z) * scale);
        }
        if (depth % PER) {
            const words word = words_of(from, depth / PER, v), high = word >> 16;
            UNROLL(64)
            for (int i = 0; i < (int)(depth % PER); i++)
                store(at + i * GEMM_NR, levels(word, high, i, &z) * scale);
        }
    }
}

/* `ends` is NULL, or the stage's arguments when this is the last block of depth. */
INLINE void tile(const DTYPE *a, const DTYPE *b, DTYPE *c, const int rows, const int cols,
                 const int first, i64 depth, void *const *ends)
{
    gemm_acc acc;
    if (first)
        gemm_start(acc, rows, 0, GEMM_NR);
    else
        gemm_load(acc, rows, c, N, cols);
    gemm_mac(acc, rows, depth, a, K, 1, b, GEMM_NR);
    if (EPILOGUE && ends)
        gemm_finish(acc, rows, c, N, cols, ends, c - (const DTYPE *)ends[2]);
    else
        gemm_store(acc, rows, c, N, cols);
}

/* By itself, so that a tile has all registers. */
static __attribute__((noinline)) void tile_of(int rows, int whole, int first, i64 depth,
                                              const DTYPE *a, const DTYPE *b, DTYPE *c,
                                              void *const *ends)
{
    switch (rows) {
#define CASE(r)                                                                                \
    case r:                                                                                    \
        if (r > GEMM_MR || !(M_VARIES || r == GEMM_MR || r == M % GEMM_MR))                    \
            break;                                                                             \
        if (whole)                                                                             \
            tile(a, b, c, MIN(r, GEMM_MR), GEMM_NR, first, depth, ends);                       \
        else if (N % GEMM_NR)                                                                  \
            tile(a, b, c, MIN(r, GEMM_MR), N % GEMM_NR, first, depth, ends);                   \
        break;
        GEMM_EACH_ROWS(CASE)
    }
}

/* arg: data, panels, out, buffers, rows of data if M_VARIES */
void gemm(void *const *arg)
{
    const DTYPE *data = arg[0];
    const byte *packed = arg[1];
    DTYPE *out = arg[2], *buffers = arg[3];
    const i64 rows = M_VARIES ? *(const i64 *)arg[4] : M;
    PARALLEL_FOR_N(2)
    for (i64 p0 = 0; p0 < PANELS; p0 += COL_PANELS)
        for (i64 r0 = 0; r0 < rows; r0 += ROW_TILES * GEMM_MR) {
            DTYPE *const buffer = buffers + THREAD * COL_PANELS * PANEL;
            const i64 p1 = MIN(p0 + COL_PANELS, PANELS);
            const i64 r1 = MIN(r0 + ROW_TILES * GEMM_MR, rows);
            for (i64 b = 0; b < BLOCKS; b++) {
                const i64 g0 = b * BLOCK_GROUPS, g1 = MIN(g0 + BLOCK_GROUPS, GROUPS);
                const i64 depth = MIN(g1 * GROUP, K) - g0 * GROUP;
                for (i64 p = p0; p < p1; p++) {
                    const byte *from = packed + p * PANEL_BYTES;
                    DTYPE *to = buffer + (p - p0) * PANEL;
                    for (i64 g = g0; g < MIN(g1, GROUPS - 1); g++)
                        unpack(to + (g - g0) * GROUP * GEMM_NR, from + g * GROUP_BYTES(GROUP),
                               GROUP);
                    if (g1 == GROUPS)
                        unpack(to + (GROUPS - 1 - g0) * GROUP * GEMM_NR,
                               from + (GROUPS - 1) * GROUP_BYTES(GROUP), LAST_GROUP);
                }
                for (i64 r = r0; r < r1; r += GEMM_MR)
                    for (i64 p = p0; p < p1; p++) {
                        const DTYPE *a = data + r * K + g0 * GROUP;
                        const DTYPE *w = buffer + (p - p0) * PANEL;
                        DTYPE *c = out + r * N + p * GEMM_NR;
                        void *const *ends = g1 == GROUPS ? arg : 0;
                        const int whole = N % GEMM_NR == 0 || p < PANELS - 1;
                        tile_of((int)MIN(GEMM_MR, r1 - r), whole, b == 0, depth, a, w, c, ends);
                    }
            }
        }
}
