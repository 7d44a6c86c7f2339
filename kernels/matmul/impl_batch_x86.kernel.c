/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul.x86: the loops of TVM's template, nothing packed. Macros from the plan: B M N K,
 * X_BATCH Y_BATCH X_ROW X_K Y_COL Y_K (strides), YI XI KI (the inner tiles), ALONG_K, LANES.
 *
 * With ALONG_K both operands are contiguous along the depth: KI elements of it are multiplied
 * at once into partial sums, added over lanes at the end. Otherwise y is contiguous along the
 * columns: XI of them are a row of vectors, x is broadcast, and KI is how far the depth
 * unrolls. LANES is a power of two that divides the vectorised tile, so vectors have no tails; of
 * rows the last M % YI are a block of their own.
 */
#include "kernels/common/epilogue.kernel.h"

#if LANES > 1
typedef DTYPE lane __attribute__((vector_size(LANES * sizeof(DTYPE))));
typedef DTYPE laneu
    __attribute__((vector_size(LANES * sizeof(DTYPE)), aligned(sizeof(DTYPE)), may_alias));
#else
typedef DTYPE lane;
typedef DTYPE laneu;
#endif

#if ALONG_K

#define VECS (KI / LANES)

INLINE DTYPE sum(lane v)
{
#if LANES > 1
    UNROLL(8)
    for (int s = LANES / 2; s > 0; s /= 2) {
        UNROLL(64)
        for (int i = 0; i < s; i++)
            v[i] += v[i + s];
    }
    return v[0];
#else
    return v;
#endif
}

INLINE void block(const DTYPE *x, const DTYPE *y, DTYPE *out, int rows)
{
    lane acc[YI][XI][VECS];
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < XI; j++) {
            UNROLL(64)
            for (int v = 0; v < VECS; v++)
                acc[i][j][v] = (lane){0};
        }
    }
    for (i64 k = 0; k < K; k += KI) {
        UNROLL(64)
        for (int v = 0; v < VECS; v++) {
            lane yv[XI];
            UNROLL(64)
            for (int j = 0; j < XI; j++)
                yv[j] = *(const laneu *)(y + j * Y_COL + k + v * LANES);
            UNROLL(64)
            for (int i = 0; i < rows; i++) {
                const lane xv = *(const laneu *)(x + i * X_ROW + k + v * LANES);
                UNROLL(64)
                for (int j = 0; j < XI; j++)
                    acc[i][j][v] += xv * yv[j];
            }
        }
    }
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int j = 0; j < XI; j++) {
            lane total = acc[i][j][0];
            UNROLL(64)
            for (int v = 1; v < VECS; v++)
                total += acc[i][j][v];
            out[i * N + j] = sum(total);
        }
    }
}

#else

#define VECS (XI / LANES)

INLINE lane columns(const DTYPE *y)
{
#if Y_COL == 1 || LANES == 1
    return *(const laneu *)y;
#else
    lane v;
    UNROLL(64)
    for (int i = 0; i < LANES; i++)
        v[i] = y[i * Y_COL];
    return v;
#endif
}

INLINE void block(const DTYPE *x, const DTYPE *y, DTYPE *out, int rows)
{
    lane acc[YI][VECS];
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int v = 0; v < VECS; v++)
            acc[i][v] = (lane){0};
    }
    UNROLL(KI)
    for (i64 k = 0; k < K; k++) {
        lane yv[VECS];
        UNROLL(64)
        for (int v = 0; v < VECS; v++)
            yv[v] = columns(y + k * Y_K + v * LANES * Y_COL);
        UNROLL(64)
        for (int i = 0; i < rows; i++) {
            const lane xv = x[i * X_ROW + k * X_K] - (lane){0};
            UNROLL(64)
            for (int v = 0; v < VECS; v++)
                acc[i][v] += xv * yv[v];
        }
    }
    UNROLL(64)
    for (int i = 0; i < rows; i++) {
        UNROLL(64)
        for (int v = 0; v < VECS; v++)
            *(laneu *)(out + i * N + v * LANES) = acc[i][v];
    }
}

#endif

/* arg: x, y, out */
void matmul(void *const *arg)
{
    const DTYPE *x = arg[0], *y = arg[1];
    DTYPE *out = arg[2];
    PARALLEL_FOR_N(3)
    for (i64 b = 0; b < B; b++)
        for (i64 i = 0; i < M; i += YI)
            for (i64 j = 0; j < N; j += XI) {
                const i64 o = (b * M + i) * N + j;
                const DTYPE *xi = x + b * X_BATCH + i * X_ROW;
                const DTYPE *yj = y + b * Y_BATCH + j * Y_COL;
                if (M % YI == 0 || i < M / YI * YI) {
                    block(xi, yj, out + o, YI);
                    epilogue_rows(out + o, N, YI, XI, arg, o);
                } else {
                    block(xi, yj, out + o, M % YI);
                    epilogue_rows(out + o, N, M % YI, XI, arg, o);
                }
            }
}
