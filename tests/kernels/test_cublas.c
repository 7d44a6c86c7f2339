/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows say to cuBLAS is right, on machines without a GPU: their bodies are C for the host,
 * so a stand-in that multiplies as the library's interface promises, by columns, takes the
 * library's place, and the output is compared with the operator's reference.
 */
#include "support/check.h"
#include "support/host_body.h"

/* ---- the stand-in ------------------------------------------------------------------------ */

enum { TYPE_FLOAT = 0, TYPE_DOUBLE = 1 };

static int calls, handles;

static int create(void **handle)
{
    *handle = &handles;
    handles++;
    return 0;
}

static int set_stream(void *handle, void *stream)
{
    assert_ptr_equal(handle, &handles);
    assert_ptr_equal(stream, host_body_stream);
    return 0;
}

static int set_workspace(void *handle, void *workspace, size_t bytes)
{
    assert_ptr_equal(handle, &handles);
    assert_ptr_equal(workspace, host_body_scratch);
    assert_int_equal(bytes, 32 << 20);
    return 0;
}

static int destroy(void *handle)
{
    assert_ptr_equal(handle, &handles);
    handles--;
    return 0;
}

static double element(const void *matrix, int type, long long i)
{
    return type == TYPE_DOUBLE ? ((const double *)matrix)[i]
                               : (double)((const float *)matrix)[i];
}

static int strided(void *handle, int trans_a, int trans_b, int m, int n, int k,
                   const void *alpha, const void *a, int type_a, int lda, long long stride_a,
                   const void *b, int type_b, int ldb, long long stride_b, const void *beta,
                   void *c, int type_c, int ldc, long long stride_c, int batches, int compute,
                   int algorithm)
{
    (void)algorithm;
    assert_ptr_equal(handle, &handles);
    assert_true(lda >= (trans_a ? k : m) && ldb >= (trans_b ? n : k) && ldc >= m);
    assert_true(type_a == type_b && type_b == type_c);
    assert_true(type_a == TYPE_DOUBLE ? compute == 70 : compute == 68 || compute == 77);
    assert_true(element(alpha, type_c, 0) == 1 && element(beta, type_c, 0) == 0);
    for (long long z = 0; z < batches; z++)
        for (long long j = 0; j < n; j++)
            for (long long i = 0; i < m; i++) {
                double sum = 0;
                for (long long l = 0; l < k; l++)
                    sum += element(a, type_a,
                                   z * stride_a + (trans_a ? l + i * lda : i + l * lda)) *
                           element(b, type_b,
                                   z * stride_b + (trans_b ? j + l * ldb : l + j * ldb));
                const long long at = z * stride_c + i + j * ldc;
                if (type_c == TYPE_DOUBLE)
                    ((double *)c)[at] = sum;
                else
                    ((float *)c)[at] = (float)sum;
            }
    calls++;
    return 0;
}

static int gemm(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha,
                const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                const void *beta, void *c, int type_c, int ldc, int compute, int algorithm)
{
    return strided(handle, trans_a, trans_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb,
                   0, beta, c, type_c, ldc, 0, 1, compute, algorithm);
}

static void *stand_in(const char *symbol)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } table[] = {
        {"cublasCreate_v2", (void (*)(void))create},
        {"cublasSetStream_v2", (void (*)(void))set_stream},
        {"cublasSetWorkspace_v2", (void (*)(void))set_workspace},
        {"cublasDestroy_v2", (void (*)(void))destroy},
        {"cublasGemmEx", (void (*)(void))gemm},
        {"cublasGemmStridedBatchedEx", (void (*)(void))strided},
    };
    for (int i = 0; i < OT_COUNT(table); i++)
        if (!strcmp(symbol, table[i].name)) {
            void *address;
            memcpy(&address, &table[i].function, sizeof address);
            return address;
        }
    fail_msg("no function '%s'", symbol);
    return NULL;
}

/* ---- tests ------------------------------------------------------------------------------- */

static void between(void)
{
    assert_int_equal(handles, 1);
}

static void every_sample(const char *name)
{
    const host_body body = {stand_in, between, 1, 1e-6};
    calls = 0;
    host_body_try_samples(&body, name, 4);
    assert_true(calls >= 4);
    assert_int_equal(handles, 0);
}

static void test_dense(void **state)
{
    (void)state;
    every_sample("dense_cublas.cuda");
}

static void test_batch_matmul(void **state)
{
    (void)state;
    every_sample("batch_matmul_cublas.cuda");
}

static int setup(void **state)
{
    (void)state;
    host_body_setup("cuda -arch=sm_80");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    host_body_teardown();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_batch_matmul),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
