/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense through cublasLtMatmul with the RANK-th answer of its heuristic. It stores by columns:
 * what is computed is out^T[N,M] = weight[N,K] * data^T[K,M], the bias along its rows. With
 * fewer answers than RANK it fails. Macros: M N K, BIAS, RANK, WORKSPACE, TYPE, OUT_TYPE,
 * COMPUTE.
 */
#include "kernels/common/cuda_users.kernel.h"

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

/* Of one stream. */
typedef struct instance {
    void *handle, *desc, *weight_layout, *data_layout, *out_layout, *preference;
    answer answers[RANK + 1];
    int n_answers;
} instance;

static instance instances[MOST_STREAMS];

/* arg: cublasLtCreate, MatmulDescCreate, MatmulDescSetAttribute, MatrixLayoutCreate,
 * MatmulPreferenceCreate, MatmulPreferenceSetAttribute, MatmulAlgoGetHeuristic,
 * stream */
void begin(void *const *arg)
{
    typedef int set_attribute(void *object, int name, const void *value, usize bytes);
    typedef int make_layout(void **layout, int type, unsigned long long rows,
                            unsigned long long cols, i64 ld);
    const int trans = TRANS, epilogue = EPILOGUE_BIAS;
    const usize workspace = WORKSPACE;
    const int place = first_user(arg[7]);
    if (place < 0)
        return;
    instance *const of = &instances[place];
    *of = (instance){0};
    int status = ((int (*)(void **))arg[0])(&of->handle);
    if (blas_failed("cublasLtCreate", status, CANNOT_START)) {
        of->handle = 0;
        return;
    }
    ((int (*)(void **, int, int))arg[1])(&of->desc, COMPUTE, SCALE_TYPE);
    ((set_attribute *)arg[2])(of->desc, DESC_TRANSA, &trans, sizeof trans);
    if (BIAS)
        ((set_attribute *)arg[2])(of->desc, DESC_EPILOGUE, &epilogue, sizeof epilogue);
    ((make_layout *)arg[3])(&of->weight_layout, TYPE, K, N, K);
    ((make_layout *)arg[3])(&of->data_layout, TYPE, K, M, K);
    ((make_layout *)arg[3])(&of->out_layout, OUT_TYPE, N, M, N);
    ((int (*)(void **))arg[4])(&of->preference);
    ((set_attribute *)arg[5])(of->preference, PREFERENCE_WORKSPACE, &workspace,
                              sizeof workspace);
    status = ((int (*)(void *, void *, void *, void *, void *, void *, void *, int, answer *,
                       int *))arg[6])(of->handle, of->desc, of->weight_layout, of->data_layout,
                                      of->out_layout, of->out_layout, of->preference, RANK + 1,
                                      of->answers, &of->n_answers);
    if (!blas_failed("cublasLtMatmulAlgoGetHeuristic", status, "") && of->n_answers <= RANK)
        fail("cublasLtMatmulAlgoGetHeuristic", of->n_answers, "it has no answer of this rank",
             "");
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
    const int place = place_of(arg[2]);
    const instance *const of = &instances[place < 0 ? 0 : place];
    if (place < 0 || of->n_answers <= RANK) {
        fail("cublasLtMatmul", 0, "there is no algorithm of this rank", "");
        return;
    }
    if (blas_failed("cublasLtMatmulAlgoGetHeuristic", of->answers[RANK].state, ""))
        return;
#if BIAS
    ((int (*)(void *, int, const void *, usize))arg[1])(of->desc, DESC_BIAS_POINTER, &arg[7],
                                                        sizeof arg[7]);
#endif
    const int status = ((matmul *)arg[0])(
        of->handle, of->desc, &one, arg[5], of->weight_layout, arg[4], of->data_layout, &zero,
        arg[6], of->out_layout, arg[6], of->out_layout, of->answers[RANK].algorithm, arg[3],
        WORKSPACE, arg[2]);
    blas_failed("cublasLtMatmul", status, "");
}

static void drop(void *destroy, void **object)
{
    if (*object)
        ((int (*)(void *))destroy)(*object);
    *object = 0;
}

/* arg: MatmulPreferenceDestroy, MatrixLayoutDestroy, MatmulDescDestroy, cublasLtDestroy, stream */
void end(void *const *arg)
{
    const int place = last_user(arg[4]);
    if (place >= 0) {
        instance *const of = &instances[place];
        drop(arg[0], &of->preference);
        drop(arg[1], &of->out_layout);
        drop(arg[1], &of->data_layout);
        drop(arg[1], &of->weight_layout);
        drop(arg[2], &of->desc);
        drop(arg[3], &of->handle);
        of->n_answers = 0;
    }
    leave(arg[4]);
}
