/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for any BLAS: products that are right and slow, and the symbols by which one library
 * is told from another. Which it is, a macro says: OPENBLAS MKL BLIS ATLAS REFERENCE PREFIXED
 * (OpenBLAS as SciPy's wheels name it) WIDE (one that takes 64-bit sizes) EMPTY (no BLAS at all).
 * Without one it says nothing.
 *
 * Build: cc -shared -fPIC -DOPENBLAS -o libopenblas.so.0 tests/data/fake_blas.c
 */
#include <stdlib.h>

#define API __attribute__((visibility("default")))
enum { TRANS = 112 };

#ifdef PREFIXED
#define OPENBLAS
#define NAME(name) scipy_##name
#elif defined WIDE
#define OPENBLAS
#define NAME(name) name##64_
#else
#define NAME(name) name
#endif

#define GEMM(name, type)                                                                       \
    API void NAME(name)(int order, int trans_a, int trans_b, int m, int n, int k, type alpha,  \
                        const type *a, int lda, const type *b, int ldb, type beta, type *c,    \
                        int ldc)                                                               \
    {                                                                                          \
        (void)order;                                                                           \
        for (int i = 0; i < m; i++)                                                            \
            for (int j = 0; j < n; j++) {                                                      \
                type sum = 0;                                                                  \
                for (int l = 0; l < k; l++)                                                    \
                    sum += (trans_a == TRANS ? a[l * lda + i] : a[i * lda + l]) *              \
                           (trans_b == TRANS ? b[j * ldb + l] : b[l * ldb + j]);               \
                c[i * ldc + j] = alpha * sum + (beta != 0 ? beta * c[i * ldc + j] : 0);        \
            }                                                                                  \
    }
#define GEMV(name, type, gemm)                                                                 \
    API void NAME(name)(int order, int trans, int m, int n, type alpha, const type *a,         \
                        int lda, const type *x, int incx, type beta, type *y, int incy)        \
    {                                                                                          \
        (void)incx;                                                                            \
        (void)incy;                                                                            \
        NAME(gemm)                                                                             \
        (order, trans, TRANS - 1, trans == TRANS ? n : m, 1, trans == TRANS ? m : n, alpha, a, \
         lda, x, 1, beta, y, 1);                                                               \
    }
#ifndef EMPTY
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
GEMV(cblas_sgemv, float, cblas_sgemm)
GEMV(cblas_dgemv, double, cblas_dgemm)
#endif

#ifdef OPENBLAS
/* As OpenBLAS does, it looks at its environment once, when it is loaded. */
static const char *core;

__attribute__((constructor)) static void choose(void)
{
    const char *asked = getenv("OPENBLAS_CORETYPE"), *own = getenv("FAKE_CORE");
    core = asked ? asked : own ? own : "Prescott";
}

API const char *NAME(openblas_get_config)(void)
{
    return "OpenBLAS 9.8.7 DYNAMIC_ARCH NO_AFFINITY MAX_THREADS=2";
}

API const char *NAME(openblas_get_corename)(void)
{
    return core;
}

API int NAME(openblas_get_parallel)(void)
{
    return 1;
}
#endif

#ifdef MKL
typedef struct version {
    int major, minor, update;
    const char *status, *build, *processor, *platform;
} version;

API void MKL_Get_Version(version *v)
{
    *v = (version){2031,
                   0,
                   4,
                   "Product",
                   "20310101",
                   "Intel(R) Advanced Vector Extensions 2 (Intel(R) AVX2) enabled processors",
                   "Intel(R) 64 architecture"};
}
#endif

#ifdef BLIS
API const char *bli_info_get_version_str(void)
{
    return "3.2.1";
}

API int bli_arch_query_id(void)
{
    return 7;
}

API const char *bli_arch_string(int id)
{
    return id == 7 ? "zen9" : "generic";
}
/* BLIS is built with netlib's C interface, too. */
API int RowMajorStrg, CBLAS_CallFromC;
#endif

#ifdef ATLAS
API void ATL_buildinfo(void)
{
}
#endif

#ifdef REFERENCE
API int RowMajorStrg, CBLAS_CallFromC;
#endif
