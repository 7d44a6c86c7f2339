/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits_gemv.cpu: few rows of data, GEMM_MR at a time, so integers are used as soon as they
 * are floats, and the weight's bytes are the limit. Macros beside those of the panels: SUMS
 * (partial sums of each element, which hide the latency of additions), AHEAD (bytes to prefetch
 * ahead; 0: no).
 */
#include "kernels/nbits/nbits_cpu.kernel.h"

/* total += the products of `depth` elements of depth of one group. */
INLINE void group(gemm_acc total, const DTYPE *x, const byte *from, const int rows,
                  const i64 depth)
{
    vec part[GEMM_MR][GEMM_NV][SUMS];
    zeros z[GEMM_NV];
    UNROLL(64)
    for (int v = 0; v < GEMM_NV; v++) {
        z[v] = zeros_of(from, v);
        UNROLL(64)
        for (int m = 0; m < rows; m++) {
            UNROLL(64)
            for (int s = 0; s < SUMS; s++)
                part[m][v][s] = (vec){0};
        }
    }
#define STEP(w, some)                                                                          \
    UNROLL(64)                                                                                 \
    for (int v = 0; v < GEMM_NV; v++) {                                                        \
        const words word = words_of(from, w, v), high = word >> 16;                            \
        if (AHEAD)                                                                             \
            __builtin_prefetch(from + HEAD_BYTES + ((w)*GEMM_NR + v * VLEN) * 4 + AHEAD, 0,    \
                               3);                                                             \
        UNROLL(64)                                                                             \
        for (int i = 0; i < (some); i++) {                                                     \
            const vec level = levels(word, high, i, &z[v]);                                    \
            UNROLL(64)                                                                         \
            for (int m = 0; m < rows; m++)                                                     \
                part[m][v][i % SUMS] += splat(x[m * K + (w)*PER + i]) * level;                 \
        }                                                                                      \
    }
    UNROLL(1)
    for (i64 w = 0; w < depth / PER; w++) {
        STEP(w, PER)
    }
    if (depth % PER) {
        STEP(depth / PER, (int)(depth % PER))
    }
    UNROLL(64)
    for (int v = 0; v < GEMM_NV; v++) {
        const vec scale = scales_of(from, v);
        UNROLL(64)
        for (int m = 0; m < rows; m++) {
            vec all = part[m][v][0];
            UNROLL(64)
            for (int s = 1; s < SUMS; s++)
                all += part[m][v][s];
            total[m][v] += all * scale;
        }
    }
}

/* The rows of data that meet one panel while it is in the first caches; `c` is where their output
 * begins, element `o` of all. */
INLINE void meet(const DTYPE *data, const byte *from, DTYPE *c, i64 o, const int rows,
                 const int cols, void *const *arg)
{
    gemm_acc total;
    gemm_start(total, rows, 0, GEMM_NR);
    UNROLL(1)
    for (i64 g = 0; g < GROUPS - 1; g++)
        group(total, data + g * GROUP, from + g * GROUP_BYTES(GROUP), rows, GROUP);
    group(total, data + (GROUPS - 1) * GROUP, from + (GROUPS - 1) * GROUP_BYTES(GROUP), rows,
          LAST_GROUP);
    gemm_finish(total, rows, c, N, cols, arg, o);
}

static __attribute__((noinline)) void some(int rows, int whole, const DTYPE *data,
                                           const byte *from, DTYPE *c, i64 o, void *const *arg)
{
    switch (rows) {
#define CASE(r)                                                                                \
    case r:                                                                                    \
        if (r > GEMM_MR || !(M_VARIES || r == GEMM_MR || r == M % GEMM_MR))                    \
            break;                                                                             \
        if (whole)                                                                             \
            meet(data, from, c, o, MIN(r, GEMM_MR), GEMM_NR, arg);                             \
        else if (N % GEMM_NR)                                                                  \
            meet(data, from, c, o, MIN(r, GEMM_MR), N % GEMM_NR, arg);                         \
        break;
        GEMM_EACH_ROWS(CASE)
    }
}

/* arg: data, panels, out, rows of data if M_VARIES */
void gemv(void *const *arg)
{
    const DTYPE *data = arg[0];
    const byte *packed = arg[1];
    DTYPE *out = arg[2];
    const i64 rows = M_VARIES ? *(const i64 *)arg[3] : M;
    PARALLEL_FOR
    for (i64 p = 0; p < PANELS; p++)
        for (i64 r = 0; r < rows; r += GEMM_MR) {
            const i64 o = r * N + p * GEMM_NR;
            some((int)MIN(GEMM_MR, rows - r), N % GEMM_NR == 0 || p < PANELS - 1, data + r * K,
                 packed + p * PANEL_BYTES, out + o, o, arg);
        }
}
