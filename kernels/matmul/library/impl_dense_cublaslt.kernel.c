/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense through cublasLtMatmul with the RANK-th answer of its heuristic. It stores by columns:
 * what is computed is out^T[N,M] = weight[N,K] * data^T[K,M], the bias along its rows. With
 * fewer answers than RANK it fails. Macros: M N K, BIAS, RANK, WORKSPACE, TYPE, OUT_TYPE,
 * COMPUTE.
 */
#include "kernels/common/cuda_library.kernel.h"

/* The interface's numbers. */
enum {
    TRANS = 1,
    DESC_TRANSA = 3,
    DESC_EPILOGUE = 7,
    DESC_BIAS_POINTER = 8,
    EPILOGUE_BIAS = 4,
    PREFERENCE_WORKSPACE = 1,
};

typedef struct answer {
    unsigned long long algorithm[8];
    usize workspace;
    int state;
    float waves;
    int reserved[4];
} answer;

static void *handle, *desc, *weight_layout, *data_layout, *out_layout, *preference;
static answer answers[RANK + 1];
static int n_answers;

/* arg: cublasLtCreate, MatmulDescCreate, MatmulDescSetAttribute, MatrixLayoutCreate,
 * MatmulPreferenceCreate, MatmulPreferenceSetAttribute, MatmulAlgoGetHeuristic */
void begin(void *const *arg)
{
    typedef int set_attribute(void *object, int name, const void *value, usize bytes);
    typedef int make_layout(void **layout, int type, unsigned long long rows,
                            unsigned long long cols, i64 ld);
    const int trans = TRANS, epilogue = EPILOGUE_BIAS;
    const usize workspace = WORKSPACE;
    if (blas_failed("cublasLtCreate", ((int (*)(void **))arg[0])(&handle), CANNOT_START))
        return;
    ((int (*)(void **, int, int))arg[1])(&desc, COMPUTE, SCALE_TYPE);
    ((set_attribute *)arg[2])(desc, DESC_TRANSA, &trans, sizeof trans);
    if (BIAS)
        ((set_attribute *)arg[2])(desc, DESC_EPILOGUE, &epilogue, sizeof epilogue);
    ((make_layout *)arg[3])(&weight_layout, TYPE, K, N, K);
    ((make_layout *)arg[3])(&data_layout, TYPE, K, M, K);
    ((make_layout *)arg[3])(&out_layout, OUT_TYPE, N, M, N);
    ((int (*)(void **))arg[4])(&preference);
    ((set_attribute *)arg[5])(preference, PREFERENCE_WORKSPACE, &workspace, sizeof workspace);
    const int status =
        ((int (*)(void *, void *, void *, void *, void *, void *, void *, int, answer *,
                  int *))arg[6])(handle, desc, weight_layout, data_layout, out_layout,
                                 out_layout, preference, RANK + 1, answers, &n_answers);
    if (!blas_failed("cublasLtMatmulAlgoGetHeuristic", status, "") && n_answers <= RANK)
        fail("cublasLtMatmulAlgoGetHeuristic", n_answers, "it has no answer of this rank", "");
}

/* arg: cublasLtMatmul, MatmulDescSetAttribute, stream, workspace, data, weight, out, bias if
 * BIAS */
void dense(void *const *arg)
{
    typedef int matmul(void *handle, void *desc, const void *alpha, const void *a,
                       void *layout_a, const void *b, void *layout_b, const void *beta,
                       const void *c, void *layout_c, void *d, void *layout_d,
                       const void *algorithm, void *workspace, usize bytes, void *stream);
    const scale one = 1, zero = 0;
    if (n_answers <= RANK ||
        blas_failed("cublasLtMatmulAlgoGetHeuristic", answers[RANK].state, ""))
        return;
#if BIAS
    ((int (*)(void *, int, const void *, usize))arg[1])(desc, DESC_BIAS_POINTER, &arg[7],
                                                        sizeof arg[7]);
#endif
    const int status = ((matmul *)arg[0])(
        handle, desc, &one, arg[5], weight_layout, arg[4], data_layout, &zero, arg[6],
        out_layout, arg[6], out_layout, answers[RANK].algorithm, arg[3], WORKSPACE, arg[2]);
    blas_failed("cublasLtMatmul", status, "");
}

static void drop(void *destroy, void **object)
{
    if (*object)
        ((int (*)(void *))destroy)(*object);
    *object = 0;
}

/* arg: MatmulPreferenceDestroy, MatrixLayoutDestroy, MatmulDescDestroy, cublasLtDestroy */
void end(void *const *arg)
{
    drop(arg[0], &preference);
    drop(arg[1], &out_layout);
    drop(arg[1], &data_layout);
    drop(arg[1], &weight_layout);
    drop(arg[2], &desc);
    drop(arg[3], &handle);
}
