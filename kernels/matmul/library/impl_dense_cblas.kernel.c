/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_cblas.x86: one call of the library, gemv for a single row and gemm otherwise. Macros
 * from the plan: M (at most, where M_VARIES) N K, BIAS. The library's function comes as an
 * argument, so nothing links to it.
 */
#include "kernels/common/cpu.kernel.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* of the CBLAS interface */

typedef void gemm(int order, int trans_a, int trans_b, int m, int n, int k, DTYPE alpha,
                  const DTYPE *a, int lda, const DTYPE *b, int ldb, DTYPE beta, DTYPE *c,
                  int ldc);
typedef void gemv(int order, int trans_a, int m, int n, DTYPE alpha, const DTYPE *a, int lda,
                  const DTYPE *x, int incx, DTYPE beta, DTYPE *y, int incy);

#if M_VARIES
#define ROWS (*(const i64 *)arg[4 + BIAS])
#else
#define ROWS M
#endif

/* arg: cblas_?gemm or cblas_?gemv, data, weight, out, bias if BIAS, rows if M_VARIES */
void dense(void *const *arg)
{
    const DTYPE *data = arg[1], *weight = arg[2];
    DTYPE *out = arg[3];
#if BIAS
    const DTYPE *bias = arg[4];
    for (i64 m = 0; m < ROWS; m++)
        for (i64 n = 0; n < N; n++)
            out[m * N + n] = bias[n];
#endif
#if M == 1 && !M_VARIES
    ((gemv *)arg[0])(ROW_MAJOR, NO_TRANS, N, K, 1, weight, K, data, 1, BIAS, out, 1);
#else
    ((gemm *)arg[0])(ROW_MAJOR, NO_TRANS, TRANS, ROWS, N, K, 1, data, K, weight, K, BIAS, out,
                     N);
#endif
}
