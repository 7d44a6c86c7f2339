/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the register tile of a matrix product leaves a block: bias and what is fused, then vectors of
 * VN. Behind kernels/matmul/gpu/tile_gpu.kernel.h and product_gpu.kernel.h. TILE_STORE(to, v) and
 * TILE_SUM(x) are the body's: STORE_VECTOR of sums APART, or both plain.
 */
#ifndef OPTUNE_KERNELS_MATMUL_TILE_OUT_GPU_H
#define OPTUNE_KERNELS_MATMUL_TILE_OUT_GPU_H

VECTOR(vec_n, DTYPE, VN);

#if BIAS_HERE
#define TILE_BIAS(n) const vec_n ot_bias = *(GLOBAL const vec_n *)(bias + (n));
#define TILE_BIASED(x, c) ((x) + ot_bias.v[c])
#else
#define TILE_BIAS(n)
#define TILE_BIASED(x, c) (x)
#endif
#if EPILOGUE_HERE
#define TILE_FUSED(x, o) EPILOGUE_APPLY(x, o)
#else
#define TILE_FUSED(x, o)
#endif

/* acc[TM][TN] of the thread (ty, tx) to rows m0 .. `rows` and columns n0 .. N of `to`, which is
 * where this batch begins, element `first` of the output; `has` says whether this thread has some
 * of them, `whole` whether all rows are inside. */
#define TILE_OUT(acc, to, first, m0, n0, rows, ty, tx, has, whole)                             \
    UNROLL for (int ot_i = 0; ot_i < TM; ot_i++)                                               \
    {                                                                                          \
        const INDEX ot_m = (m0) + TILE_ROW(ot_i, ty);                                          \
        UNROLL for (int ot_j = 0; ot_j < TN; ot_j += VN)                                       \
        {                                                                                      \
            const INDEX ot_n = (n0) + TILE_COL(ot_j, tx);                                      \
            if ((has) && ((whole) || ot_m < (rows)) && (N % BN == 0 || ot_n < N)) {            \
                vec_n ot_v;                                                                    \
                TILE_BIAS(ot_n)                                                                \
                UNROLL for (int ot_c = 0; ot_c < VN; ot_c++)                                   \
                {                                                                              \
                    ot_v.v[ot_c] = TILE_BIASED(TILE_SUM((acc)[ot_i][ot_j + ot_c]), ot_c);      \
                    TILE_FUSED(ot_v.v[ot_c], (first) + ot_m * N + ot_n + ot_c)                 \
                }                                                                              \
                TILE_STORE((GLOBAL vec_n *)((to) + ot_m * N + ot_n), ot_v);                    \
            }                                                                                  \
        }                                                                                      \
    }

#endif
