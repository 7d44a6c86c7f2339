/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul_cblas.x86: one call of the library per batch. Macros from the plan: B M N K,
 * X_BATCH Y_BATCH, TRANSPOSE_A TRANSPOSE_B. The library's function comes as an argument, so
 * nothing links to it.
 */
#include "kernels/common/cpu.kernel.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* of the CBLAS interface */

typedef void gemm(int order, int trans_a, int trans_b, int m, int n, int k, DTYPE alpha,
                  const DTYPE *a, int lda, const DTYPE *b, int ldb, DTYPE beta, DTYPE *c,
                  int ldc);

/* arg: cblas_?gemm, x, y, out */
void matmul(void *const *arg)
{
    const DTYPE *x = arg[1], *y = arg[2];
    DTYPE *out = arg[3];
    for (i64 b = 0; b < B; b++)
        ((gemm *)arg[0])(ROW_MAJOR, TRANSPOSE_A ? TRANS : NO_TRANS,
                         TRANSPOSE_B ? TRANS : NO_TRANS, M, N, K, 1, x + b * X_BATCH,
                         TRANSPOSE_A ? M : K, y + b * Y_BATCH, TRANSPOSE_B ? K : N, 0,
                         out + b * M * N, N);
}
