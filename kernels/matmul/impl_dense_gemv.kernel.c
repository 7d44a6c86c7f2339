/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_gemv.cpu: few rows of data, so the weight is read once and memory is the limit. Macros
 * from the plan: M (at most, where M_VARIES: the rows of data are an argument) N K, BIAS, ROWS
 * (weight rows in flight), VECTORS (vectors of depth in flight per row), PACKED (weight in the
 * order it is read), AHEAD (bytes to prefetch ahead; 0: no).
 *
 * Every output is a dot product along the depth with VECTORS partial sums in registers; the
 * data is small enough to stay in the first cache. A packed weight is one stream without page
 * jumps: [group][K / STEP][ROWS][STEP], then the K % STEP columns left over, as [ROWS][tail].
 */
#include "kernels/common/epilogue.kernel.h"

#define STEP ((i64)VECTORS * VLEN)
#define STEPS (K / STEP)
#define GROUPS CEIL_DIV(N, ROWS)

/* TAIL(w, r)[k] is element k >= STEPS * STEP of row r. */
#if PACKED
#define NEXT_ROW STEP
#define NEXT_STEP (ROWS * STEP)
#define TAIL(w, r) ((w) + STEPS * ROWS * STEP + (r) * (K - STEPS * STEP) - STEPS * STEP)
#else
#define NEXT_ROW K
#define NEXT_STEP STEP
#define TAIL(w, r) ((w) + (r)*K)
#endif

#if PACKED
/* arg: weight [N][K], packed weight; rows beyond N stay as the zeros scratch begins with */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *packed = arg[1];
    PARALLEL_FOR
    for (i64 g = 0; g < GROUPS; g++) {
        DTYPE *to = packed + g * ROWS * K;
        const i64 rows = MIN(ROWS, N - g * ROWS);
        for (i64 r = 0; r < rows; r++) {
            const DTYPE *from = weight + (g * ROWS + r) * K;
            for (i64 s = 0; s < STEPS; s++)
                for (i64 i = 0; i < STEP; i++)
                    to[(s * ROWS + r) * STEP + i] = from[s * STEP + i];
            for (i64 i = STEPS * STEP; i < K; i++)
                to[STEPS * ROWS * STEP + r * (K - STEPS * STEP) + i - STEPS * STEP] = from[i];
        }
    }
}
#endif

INLINE DTYPE sum(vec v)
{
    /* Halves are added until one lane is left: log2(VLEN) steps the compiler shuffles. */
    UNROLL(8)
    for (int s = VLEN / 2; s > 0; s /= 2) {
        UNROLL(64)
        for (int i = 0; i < s; i++)
            v[i] += v[i + s];
    }
    return v[0];
}

/* out[m][0 .. rows) for one group of weight rows. */
INLINE void group(const DTYPE *data, const DTYPE *weight, const DTYPE *bias, DTYPE *out,
                  const int rows, const int data_rows, void *const *arg)
{
    vec acc[M][ROWS][VECTORS];
    UNROLL(64)
    for (int m = 0; m < data_rows; m++) {
        UNROLL(64)
        for (int r = 0; r < rows; r++) {
            UNROLL(64)
            for (int v = 0; v < VECTORS; v++)
                acc[m][r][v] = (vec){0};
        }
    }
    for (i64 s = 0; s < STEPS; s++) {
        UNROLL(64)
        for (int v = 0; v < VECTORS; v++) {
            vec x[M];
            UNROLL(64)
            for (int m = 0; m < data_rows; m++)
                x[m] = load(data + m * K + s * STEP + v * VLEN);
            UNROLL(64)
            for (int r = 0; r < rows; r++) {
                const DTYPE *w = weight + s * NEXT_STEP + r * NEXT_ROW + v * VLEN;
                if (AHEAD)
                    __builtin_prefetch((const char *)w + AHEAD, 0, 3);
                const vec wv = load(w);
                UNROLL(64)
                for (int m = 0; m < data_rows; m++)
                    acc[m][r][v] += x[m] * wv;
            }
        }
    }
    UNROLL(64)
    for (int m = 0; m < data_rows; m++) {
        UNROLL(64)
        for (int r = 0; r < rows; r++) {
            vec total = acc[m][r][0];
            UNROLL(64)
            for (int v = 1; v < VECTORS; v++)
                total += acc[m][r][v];
            DTYPE y = sum(total);
            const DTYPE *tail = TAIL(weight, r);
            for (i64 k = STEPS * STEP; k < K; k++)
                y += data[m * K + k] * tail[k];
            y = BIAS ? y + bias[r] : y;
            out[m * N + r] = epilogue_one(y, arg, out - (const DTYPE *)arg[2] + m * N + r);
        }
    }
}

/* All groups for so many rows of data. */
INLINE void product(const DTYPE *data, const DTYPE *weight, const DTYPE *bias, DTYPE *out,
                    const int data_rows, void *const *arg)
{
    PARALLEL_FOR
    for (i64 g = 0; g < N / ROWS; g++)
        group(data, weight + g * ROWS * K, BIAS ? bias + g * ROWS : 0, out + g * ROWS, ROWS,
              data_rows, arg);
#if N % ROWS
    const i64 done = N / ROWS * ROWS;
    group(data, weight + done * K, BIAS ? bias + done : 0, out + done, N % ROWS, data_rows,
          arg);
#endif
}

/* arg: data, weight or packed weight, out, bias if BIAS, rows of data if M_VARIES */
void gemv(void *const *arg)
{
    const DTYPE *data = arg[0], *weight = arg[1], *bias = BIAS ? arg[3] : 0;
    DTYPE *out = arg[2];
#if M_VARIES
    switch (*(const i64 *)arg[3 + BIAS]) {
#define CASE(m)                                                                                \
    case m:                                                                                    \
        if (m <= M)                                                                            \
            product(data, weight, bias, out, MIN(m, M), arg);                                  \
        break;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
    }
#else
    product(data, weight, bias, out, M, arg);
#endif
}
