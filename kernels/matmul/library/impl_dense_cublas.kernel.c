/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense through cublasGemmEx. cuBLAS stores by columns, so what it computes is the transposed
 * product: out^T[N,M] = weight[N,K] * data^T[K,M], both operands as they lie. Macros: M N K,
 * TYPE, OUT_TYPE, COMPUTE.
 */
#include "kernels/matmul/library/cublas.kernel.h"

typedef int gemm(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha,
                 const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                 const void *beta, void *c, int type_c, int ldc, int compute, int algorithm);

/* arg: cublasGemmEx, data, weight, out, then what `ready` takes */
void dense(void *const *arg)
{
    const scale one = 1, zero = 0;
    void *const handle = ready(arg + 4);
    if (!handle)
        return;
    const int status =
        ((gemm *)arg[0])(handle, TRANS, NO_TRANS, N, M, K, &one, arg[2], TYPE, K, arg[1], TYPE,
                         K, &zero, arg[3], OUT_TYPE, N, COMPUTE, DEFAULT_ALGORITHM);
    blas_failed("cublasGemmEx", status, "");
}
