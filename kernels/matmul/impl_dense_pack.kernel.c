/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_pack.x86: the loops of TVM's packed dense. Macros from the plan: M N K, BIAS, YO YI XO
 * XI (the two inner sizes of tile_y and tile_x), KC (depth between visits of a row group),
 * GEMM_MR (rows in registers), GEMM_NV (vectors that cover XI), GEMM_KU.
 *
 * The packed weight is [N/XI][K][GEMM_NR]: XI columns a panel, padded with zeros to whole
 * vectors. All splits divide, so the only ragged edges are XI in its vectors and YI in groups
 * of GEMM_MR rows.
 */
#include "kernels/matmul/gemm.kernel.h"

/* arg: weight [N][K], packed weight */
void pack_weight(void *const *arg)
{
    const DTYPE *weight = arg[0];
    DTYPE *packed = arg[1];
    PARALLEL_FOR
    for (i64 p = 0; p < N / XI; p++)
        gemm_pack_bt(packed + p * K * GEMM_NR, weight + p * XI * K, K, XI, K);
}

INLINE void rows_at(const DTYPE *data, const DTYPE *panel, const DTYPE *bias, DTYPE *out,
                    const int rows, i64 k0, void *const *arg)
{
    gemm_acc acc;
    if (k0 == 0)
        gemm_start(acc, rows, bias, XI);
    else
        gemm_load(acc, rows, out, N, XI);
    gemm_mac(acc, rows, KC, data + k0, K, 1, panel + k0 * GEMM_NR, GEMM_NR);
    if (EPILOGUE && k0 + KC == K)
        gemm_finish(acc, rows, out, N, XI, arg, out - (const DTYPE *)arg[2]);
    else
        gemm_store(acc, rows, out, N, XI);
}

/* One block of YI rows and XI columns. */
INLINE void block(const DTYPE *data, const DTYPE *panel, const DTYPE *bias, DTYPE *out,
                  void *const *arg)
{
    for (i64 k0 = 0; k0 < K; k0 += KC) {
        i64 y = 0;
        for (; y + GEMM_MR <= YI; y += GEMM_MR)
            rows_at(data + y * K, panel, bias, out + y * N, GEMM_MR, k0, arg);
        if (YI % GEMM_MR)
            rows_at(data + y * K, panel, bias, out + y * N, YI % GEMM_MR, k0, arg);
    }
}

/* arg: data, packed weight, out, bias if BIAS */
void dense(void *const *arg)
{
    const DTYPE *data = arg[0], *packed = arg[1], *bias = BIAS ? arg[3] : 0;
    DTYPE *out = arg[2];
    PARALLEL_FOR_N(2)
    for (i64 yt = 0; yt < M / (YO * YI); yt++)
        for (i64 xt = 0; xt < N / (XO * XI); xt++)
            for (i64 yo = 0; yo < YO; yo++)
                for (i64 xo = 0; xo < XO; xo++) {
                    const i64 y = (yt * YO + yo) * YI, p = xt * XO + xo;
                    block(data + y * K, packed + p * K * GEMM_NR, BIAS ? bias + p * XI : 0,
                          out + y * N + p * XI, arg);
                }
}
