/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second stage of a GPU product whose depth was shared by SPLITS blocks: out = the sum of
 * what they left, plus the bias, and what is fused behind it. `part` holds SPLITS times the
 * largest output, each laid out as the output is. Macros as in kernels/matmul/gpu/matmul_gpu.h; a
 * thread adds VN neighbours.
 */
#ifndef OPTUNE_KERNELS_COMMON_SPLITS_GPU_H
#define OPTUNE_KERNELS_COMMON_SPLITS_GPU_H

KERNEL(SUM_THREADS, 1, 1)
add_splits(GLOBAL const DTYPE *RESTRICT part,
           GLOBAL DTYPE *RESTRICT out OUTPUT_PARAMETERS(DTYPE))
{
    const i64 o = ((i64)BLOCK_X * SUM_THREADS + THREAD_X) * VN;
    if (o < (i64)BATCHES * ROWS * N) {
        vec_n sum = *(GLOBAL const vec_n *)(part + o);
        UNROLL_BY(8)
        for (int s = 1; s < SPLITS; s++) {
            const vec_n v = *(GLOBAL const vec_n *)(part + s * (B * (i64)M * N) + o);
            UNROLL
            for (int c = 0; c < VN; c++)
                sum.v[c] += v.v[c];
        }
#if BIAS
        UNROLL
        for (int c = 0; c < VN; c++)
            sum.v[c] += bias[o % N + c];
#endif
#if EPILOGUE
        UNROLL
        for (int c = 0; c < VN; c++)
            EPILOGUE_APPLY(sum.v[c], o + c)
#endif
        STORE_VECTOR((GLOBAL vec_n *)(out + o), sum);
    }
}

#endif
