/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nopack.x86: the loops of TVM's unpacked dense. Macros from the plan: M N K, BIAS, YI XI
 * (the block of outputs in registers), KLANES x KVECS (what one step of depth takes: vectors of
 * KLANES lanes).
 *
 * Both operands are read along the depth as they lie in memory; an output is a sum over lanes
 * at the end. KLANES is a power of two that divides the step, so there are no tails.
 */
#include "kernels/common/epilogue.kernel.h"

#define STEP ((i64)KLANES * KVECS)

#if KLANES > 1
typedef DTYPE kvec __attribute__((vector_size(KLANES * sizeof(DTYPE))));
typedef DTYPE kvecu
    __attribute__((vector_size(KLANES * sizeof(DTYPE)), aligned(sizeof(DTYPE)), may_alias));
INLINE DTYPE sum(kvec v)
{
    UNROLL(8)
    for (int s = KLANES / 2; s > 0; s /= 2) {
        UNROLL(64)
        for (int i = 0; i < s; i++)
            v[i] += v[i + s];
    }
    return v[0];
}
#else
typedef DTYPE kvec;
typedef DTYPE kvecu;
INLINE DTYPE sum(kvec v)
{
    return v;
}
#endif

INLINE void block(const DTYPE *data, const DTYPE *weight, const DTYPE *bias, DTYPE *out)
{
    kvec acc[YI][XI][KVECS];
    UNROLL(64)
    for (int y = 0; y < YI; y++) {
        UNROLL(64)
        for (int x = 0; x < XI; x++) {
            UNROLL(64)
            for (int v = 0; v < KVECS; v++)
                acc[y][x][v] = (kvec){0};
        }
    }
    for (i64 k = 0; k < K; k += STEP) {
        UNROLL(64)
        for (int v = 0; v < KVECS; v++) {
            kvec w[XI];
            UNROLL(64)
            for (int x = 0; x < XI; x++)
                w[x] = *(const kvecu *)(weight + x * K + k + v * KLANES);
            UNROLL(64)
            for (int y = 0; y < YI; y++) {
                const kvec d = *(const kvecu *)(data + y * K + k + v * KLANES);
                UNROLL(64)
                for (int x = 0; x < XI; x++)
                    acc[y][x][v] += d * w[x];
            }
        }
    }
    UNROLL(64)
    for (int y = 0; y < YI; y++) {
        UNROLL(64)
        for (int x = 0; x < XI; x++) {
            kvec total = acc[y][x][0];
            UNROLL(64)
            for (int v = 1; v < KVECS; v++)
                total += acc[y][x][v];
            out[y * N + x] = BIAS ? sum(total) + bias[x] : sum(total);
        }
    }
}

/* arg: data, weight, out, bias if BIAS */
void dense(void *const *arg)
{
    const DTYPE *data = arg[0], *weight = arg[1], *bias = BIAS ? arg[3] : 0;
    DTYPE *out = arg[2];
    PARALLEL_FOR_N(2)
    for (i64 y = 0; y < M; y += YI)
        for (i64 x = 0; x < N; x += XI) {
            block(data + y * K, weight + x * K, BIAS ? bias + x : 0, out + y * N + x);
            epilogue_rows(out + y * N + x, N, YI, XI, arg, y * N + x);
        }
}
