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

static int calls, handles, objects; /* objects: of cuBLASLt */
static char other_stream[1];

typedef struct stream_handle {
    const void *stream;
} stream_handle;

static const void *ran_on;

static int create(void **handle)
{
    *handle = ot_alloc(sizeof(stream_handle));
    handles++;
    return 0;
}

static int set_stream(void *handle, void *stream)
{
    stream_handle *h = handle;
    assert_true(stream == host_body_stream || stream == other_stream);
    h->stream = stream;
    return 0;
}

static int set_workspace(void *handle, void *workspace, size_t bytes)
{
    assert_non_null(handle);
    assert_ptr_equal(workspace, host_body_scratch);
    assert_int_equal(bytes, 32 << 20);
    return 0;
}

static int destroy(void *handle)
{
    free(handle);
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
    ran_on = ((stream_handle *)handle)->stream;
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

/* ---- of cuBLASLt ------------------------------------------------------------------------- */

enum { OF_DESC = 1, OF_LAYOUT, OF_PREFERENCE, TRANS_A = 3, EPILOGUE = 7, BIAS = 8, SPACE = 1 };

typedef struct object {
    int kind, compute, type, trans, epilogue;
    uint64_t rows, columns;
    int64_t ld;
    const void *bias;
    size_t space;
} object;

typedef struct lt_answer {
    uint64_t algorithm[8];
    size_t space;
    int state;
    float waves;
    int reserved[4];
} lt_answer;

static int new_object(void **made, object what)
{
    object *o = ot_alloc(sizeof *o);
    *o = what;
    *made = o;
    objects++;
    return 0;
}

static int lt_desc(void **made, int compute, int type)
{
    return new_object(made, (object){.kind = OF_DESC, .compute = compute, .type = type});
}

static int lt_layout(void **made, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    return new_object(
        made,
        (object){.kind = OF_LAYOUT, .type = type, .rows = rows, .columns = columns, .ld = ld});
}

static int lt_preference(void **made)
{
    return new_object(made, (object){.kind = OF_PREFERENCE});
}

static int lt_drop(void *of)
{
    free(of);
    objects--;
    return 0;
}

static int lt_set(void *of, int name, const void *value, size_t bytes)
{
    object *o = of;
    if (o->kind == OF_PREFERENCE) {
        assert_true(name == SPACE && bytes == sizeof o->space);
        memcpy(&o->space, value, bytes);
    } else if (name == BIAS) {
        assert_int_equal(bytes, sizeof o->bias);
        memcpy(&o->bias, value, bytes);
    } else {
        assert_true(o->kind == OF_DESC && (name == TRANS_A || name == EPILOGUE));
        memcpy(name == TRANS_A ? &o->trans : &o->epilogue, value, bytes);
    }
    return 0;
}

static int lt_heuristic(void *handle, const object *desc, const object *a, const object *b,
                        const object *c, const object *d, const object *preference, int n,
                        lt_answer *answers, int *got)
{
    assert_true(handle && desc->kind == OF_DESC && a->kind == OF_LAYOUT &&
                b->kind == OF_LAYOUT && c == d && preference->space == 32 << 20);
    for (int i = 0; i < n; i++)
        answers[i] = (lt_answer){.algorithm = {(uint64_t)i + 1}};
    *got = n;
    return 0;
}

static int lt_matmul(void *handle, const object *desc, const void *alpha, const void *a,
                     const object *layout_a, const void *b, const object *layout_b,
                     const void *beta, const void *c, const object *layout_c, void *d,
                     const object *layout_d, const uint64_t *algorithm, void *space,
                     size_t bytes, void *stream)
{
    assert_true(c == d && layout_c == layout_d && algorithm[0] == 1 && bytes == 32 << 20);
    assert_ptr_equal(space, host_body_scratch);
    gemm(handle, desc->trans, 0, (int)layout_d->rows, (int)layout_d->columns,
         (int)layout_b->rows, alpha, a, layout_a->type, (int)layout_a->ld, b, layout_b->type,
         (int)layout_b->ld, beta, d, layout_d->type, (int)layout_d->ld, desc->compute, 0);
    ran_on = stream;
    for (uint64_t i = 0; desc->epilogue && i < layout_d->rows * layout_d->columns; i++)
        if (layout_d->type == TYPE_DOUBLE)
            ((double *)d)[i] += ((const double *)desc->bias)[i % layout_d->rows];
        else
            ((float *)d)[i] += ((const float *)desc->bias)[i % layout_d->rows];
    return 0;
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
        {"cublasLtCreate", (void (*)(void))create},
        {"cublasLtDestroy", (void (*)(void))destroy},
        {"cublasLtMatmulDescCreate", (void (*)(void))lt_desc},
        {"cublasLtMatmulDescSetAttribute", (void (*)(void))lt_set},
        {"cublasLtMatmulDescDestroy", (void (*)(void))lt_drop},
        {"cublasLtMatrixLayoutCreate", (void (*)(void))lt_layout},
        {"cublasLtMatrixLayoutDestroy", (void (*)(void))lt_drop},
        {"cublasLtMatmulPreferenceCreate", (void (*)(void))lt_preference},
        {"cublasLtMatmulPreferenceSetAttribute", (void (*)(void))lt_set},
        {"cublasLtMatmulPreferenceDestroy", (void (*)(void))lt_drop},
        {"cublasLtMatmulAlgoGetHeuristic", (void (*)(void))lt_heuristic},
        {"cublasLtMatmul", (void (*)(void))lt_matmul},
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
    assert_int_equal(objects, 0);
}

static void run_on(void *stream)
{
    host_body_run(OPTUNE_TIMED, stream);
    host_body_said(NULL);
    host_body_compare();
    assert_ptr_equal(ran_on, stream);
}

/* Bindings of one module share a handle on each stream, until the last there is closed. */
static void bind_again(const char *name, const char *workload, const char *without)
{
    const host_body body = {stand_in, between, 1, 1e-6};
    assert_true(host_body_open(&body, ot_impl_find(name), workload, NULL));
    for (int i = 0; i < 3; i++)
        host_body_run(OPTUNE_PREPACK, i == 1 ? other_stream : host_body_stream);
    assert_int_equal(handles, 2);
    run_on(host_body_stream);
    run_on(other_stream);
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    run_on(host_body_stream);
    host_body_run(OPTUNE_TEARDOWN, host_body_stream);
    assert_int_equal(handles, 1);
    run_on(other_stream);
    host_body_run(OPTUNE_TIMED, host_body_stream);
    host_body_said(without);
    host_body_run(OPTUNE_TEARDOWN, other_stream);
    host_body_close();
    assert_int_equal(handles, 0);
    assert_int_equal(objects, 0);
}

static void test_bound_again(void **state)
{
    (void)state;
    bind_again("dense_cublas.cuda", "dense(f32[3,5], f32[4,5])",
               "cublasSetWorkspace: there is no handle");
    bind_again("dense_cublaslt.cuda", "dense(f32[3,5], f32[4,5])",
               "cublasLtMatmul: there is no algorithm of this rank");
}

static void test_dense_lt(void **state)
{
    (void)state;
    every_sample("dense_cublaslt.cuda");
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
    return host_body_setup("cuda -arch=sm_80");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_batch_matmul),
        cmocka_unit_test(test_dense_lt),
        cmocka_unit_test(test_bound_again),
    };
    return cmocka_run_group_tests(tests, setup, host_body_teardown);
}
