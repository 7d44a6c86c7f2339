/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows say to cuBLAS is right, on machines without a GPU: their bodies are C for the host,
 * so a stand-in that multiplies as the library's interface promises, by columns, takes the
 * library's place, and the output is compared with the operator's reference.
 */
#include "support/check.h"

#include <dlfcn.h>
#include <math.h>

#include "answer/answer.h"
#include "run/run.h"
#include "target/cuda.h"

/* ---- the stand-in ------------------------------------------------------------------------ */

enum { TYPE_FLOAT = 0, TYPE_DOUBLE = 1 };

static int calls, handles;
static char scratch[64]; /* its address is what is passed on */

static int create(void **handle)
{
    *handle = &handles;
    handles++;
    return 0;
}

static int set_stream(void *handle, void *stream)
{
    assert_ptr_equal(handle, &handles);
    assert_ptr_equal(stream, &calls);
    return 0;
}

static int set_workspace(void *handle, void *workspace, size_t bytes)
{
    assert_ptr_equal(handle, &handles);
    assert_ptr_equal(workspace, scratch);
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
    if (!strcmp(symbol, "ot_stream"))
        return &calls;
    for (int i = 0; i < OT_COUNT(table); i++)
        if (!strcmp(symbol, table[i].name)) {
            void *address;
            memcpy(&address, &table[i].function, sizeof address);
            return address;
        }
    fail_msg("no function '%s'", symbol);
    return NULL;
}

/* ---- a sample ---------------------------------------------------------------------------- */

static ot_builder *builder;
static optune_target target;
static optune_device device;
static char dir[4096];

static void *input[2], *output;

static void run_stages(const optune_plan *plan, optune_phase phase, void *module)
{
    for (int i = 0; i < plan->n_stages; i++) {
        const optune_stage *stage = &plan->stage[i];
        if (stage->phase != phase)
            continue;
        void *arg[OPTUNE_MAX_ARGS], *address = dlsym(module, stage->function);
        void (*function)(void *const *);
        assert_non_null(address);
        memcpy(&function, &address, sizeof function);
        for (int k = 0; k < stage->n_args; k++)
            arg[k] = stage->arg[k].kind == OPTUNE_ARG_INPUT    ? input[stage->arg[k].index]
                     : stage->arg[k].kind == OPTUNE_ARG_OUTPUT ? output
                     : stage->arg[k].kind == OPTUNE_ARG_SCRATCH
                         ? scratch
                         : stand_in(stage->arg[k].symbol);
        function(arg);
    }
}

static void compare(const optune_call *call)
{
    const optune_tensor *type = &call->output[0];
    const int64_t n = optune_tensor_elements(type);
    double *want = ot_alloc((size_t)n * sizeof *want),
           *size = ot_alloc((size_t)n * sizeof *size);
    optune_region region = {.rank = type->rank};
    for (int d = 0; d < type->rank; d++)
        region.hi[d] = type->dim[d].min;
    call->op->reference(call, (const void *const *)input, 0, &region, want, size);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(element(output, type->dtype.bits == 64, i) - want[i]) <=
                    1e-6 * size[i] + 1e-30);
    free(want);
    free(size);
}

static bool try_sample(const optune_impl *impl, const char *sample)
{
    optune_err err = {0};
    static optune_call call;
    static optune_plan plan;
    static optune_config none;
    ot_job job = {0};
    check_ok(ot_call_parse(sample, &call, &err));
    const optune_task task = {&call, &target, &device};
    const optune_dtype dtype = call.output[0].dtype;
    if (call.input[0].type.dtype.bits < 32 || dtype.bits < 32 ||
        !ot_impl_applies(impl, &task, NULL))
        return false;
    check_ok(ot_plan_make(&task, impl, &none, &plan, &err));
    check_ok(ot_builder_submit(builder, &task, &plan, &job, &err));
    while (!job.done)
        ot_builder_wait(builder, &job, 1);
    if (job.outcome != OPTUNE_OUTCOME_OK)
        fail_msg("%s %s: %s", impl->name, sample, job.message);
    void *module = dlopen(job.module[0], RTLD_NOW | RTLD_LOCAL);
    assert_non_null(module);
    for (int i = 0; i < 2; i++) {
        const optune_tensor *type = &call.input[i].type;
        input[i] = ot_alloc((size_t)optune_tensor_elements(type) * (type->dtype.bits / 8));
        ot_fill_input(type, 5, i, input[i]);
    }
    output = ot_alloc((size_t)optune_tensor_elements(&call.output[0]) * (dtype.bits / 8));
    calls = 0;
    run_stages(&plan, OPTUNE_PREPACK, module);
    run_stages(&plan, OPTUNE_TIMED, module);
    assert_int_equal(calls, 1);
    assert_int_equal(handles, 1);
    run_stages(&plan, OPTUNE_TEARDOWN, module);
    assert_int_equal(handles, 0);
    compare(&call);
    free(input[0]);
    free(input[1]);
    free(output);
    dlclose(module);
    return true;
}

static void every_sample(const char *name)
{
    const optune_impl *impl = ot_impl_find(name);
    int tried = 0;
    assert_non_null(impl);
    for (const char *const *s = ot_op_find(impl->op)->samples; *s; s++)
        tried += try_sample(impl, *s);
    assert_true(tried >= 4);
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
    optune_err err = {0};
    check_ok(ot_target_parse("cuda -arch=sm_80", &target, &err));
    check_ok(ot_cuda_assume(&target, &device, &err));
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    const ot_build_options build = {.target = &target,
                                    .device = &device,
                                    .row = ot_target_find("cuda"),
                                    .cache_dir = dir,
                                    .limit_s = 60};
    check_ok(ot_builder_open(&build, &builder, &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ot_builder_close(builder);
    ot_remove_tree(dir);
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
