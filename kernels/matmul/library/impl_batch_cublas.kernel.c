/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul through cublasGemmStridedBatchedEx. cuBLAS stores by columns, so what it
 * computes is, batch by batch, the transposed product: out^T[N,M] = y[N,K] * x^T[K,M]. Macros:
 * B M N K, X_BATCH Y_BATCH (elements from one batch to the next), TRANSPOSE_A (x is [K,M])
 * TRANSPOSE_B (y is [N,K]), TYPE, OUT_TYPE, COMPUTE.
 */
#include "kernels/matmul/library/cublas.kernel.h"

typedef int gemm(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha,
                 const void *a, int type_a, int lda, long long stride_a, const void *b,
                 int type_b, int ldb, long long stride_b, const void *beta, void *c, int type_c,
                 int ldc, long long stride_c, int batches, int compute, int algorithm);

/* arg: cublasGemmStridedBatchedEx, x, y, out, then what `ready` takes */
void matmul(void *const *arg)
{
    const scale one = 1, zero = 0;
    void *const handle = ready(arg + 4);
    if (!handle)
        return;
    const int status = ((gemm *)arg[0])(
        handle, TRANSPOSE_B ? TRANS : NO_TRANS, TRANSPOSE_A ? TRANS : NO_TRANS, N, M, K, &one,
        arg[2], TYPE, TRANSPOSE_B ? K : N, Y_BATCH, arg[1], TYPE, TRANSPOSE_A ? M : K, X_BATCH,
        &zero, arg[3], OUT_TYPE, N, (i64)M * N, B, COMPUTE, DEFAULT_ALGORITHM);
    blas_failed("cublasGemmStridedBatchedEx", status, "");
}
