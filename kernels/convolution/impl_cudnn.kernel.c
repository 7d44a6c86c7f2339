/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d through cudnnConvolutionForward. Where the algorithm does not serve the call or needs
 * more than WORKSPACE bytes, it fails. float32 is computed with fused multiply-adds unless
 * TF32 is permitted. Macros: the shape, ALGORITHM, WORKSPACE, TF32, TYPE.
 */
#include "kernels/common/cuda_library.kernel.h"

/* The interface's numbers. */
enum {
    NCHW = 0,
    CROSS_CORRELATION = 1,
    MATH_TENSOR_OP = 1,
    MATH_FMA = 3,
    DATA_BFLOAT = 9,
};
#define DATA_TYPE (TYPE == CUDA_BFLOAT ? DATA_BFLOAT : TYPE)
#define HALF (TYPE == CUDA_BFLOAT || TYPE == CUDA_HALF)

static void *handle, *in_desc, *out_desc, *filter, *convolution;
static usize needed;
static int ready;

static int failed(void *words, const char *call, int status, const char *remedy)
{
    if (status)
        fail(call, status, ((const char *(*)(int))words)(status), remedy);
    return status;
}

/* arg: cudnnCreate, SetStream, stream, CreateTensorDescriptor, SetTensor4dDescriptor,
 * CreateFilterDescriptor, SetFilter4dDescriptor, CreateConvolutionDescriptor,
 * SetConvolution2dDescriptor, SetConvolutionGroupCount, SetConvolutionMathType,
 * GetConvolutionForwardWorkspaceSize, GetErrorString */
void begin(void *const *arg)
{
    typedef int create(void **object);
    typedef int set4(void *object, int a, int b, int n, int c, int h, int w);
    ready = 0;
    if (failed(arg[12], "cudnnCreate", ((create *)arg[0])(&handle), CANNOT_START))
        return;
    ((int (*)(void *, void *))arg[1])(handle, arg[2]);
    ((create *)arg[3])(&in_desc);
    ((create *)arg[3])(&out_desc);
    ((set4 *)arg[4])(in_desc, NCHW, DATA_TYPE, N, CI, H, W);
    ((set4 *)arg[4])(out_desc, NCHW, DATA_TYPE, N, CO, OH, OW);
    ((create *)arg[5])(&filter);
    ((set4 *)arg[6])(filter, DATA_TYPE, NCHW, CO, CI_G, KH, KW);
    ((create *)arg[7])(&convolution);
    ((int (*)(void *, int, int, int, int, int, int, int, int))arg[8])(
        convolution, PH, PW, SH, SW, DH, DW, CROSS_CORRELATION, SCALE_TYPE);
    ((int (*)(void *, int))arg[9])(convolution, GROUPS);
    ((int (*)(void *, int))arg[10])(convolution, TF32 || HALF ? MATH_TENSOR_OP : MATH_FMA);
    const int status = ((int (*)(void *, void *, void *, void *, void *, int, usize *))arg[11])(
        handle, in_desc, filter, convolution, out_desc, ALGORITHM, &needed);
    ready = !failed(arg[12], "cudnnGetConvolutionForwardWorkspaceSize", status, "") &&
            needed <= WORKSPACE;
    if (needed > WORKSPACE)
        fail("cudnnGetConvolutionForwardWorkspaceSize", 0,
             "it needs more memory than is offered", "");
}

/* arg: cudnnConvolutionForward, workspace, data, weight, out, GetErrorString */
void conv2d(void *const *arg)
{
    typedef int forward(void *handle, const void *alpha, void *x, const void *data, void *w,
                        const void *weight, void *convolution, int algorithm, void *workspace,
                        usize bytes, const void *beta, void *y, void *out);
    const scale one = 1, zero = 0;
    if (ready)
        failed(arg[5], "cudnnConvolutionForward",
               ((forward *)arg[0])(handle, &one, in_desc, arg[2], filter, arg[3], convolution,
                                   ALGORITHM, arg[1], WORKSPACE, &zero, out_desc, arg[4]),
               "");
}

static void drop(void *destroy, void **object)
{
    if (*object)
        ((int (*)(void *))destroy)(*object);
    *object = 0;
}

/* arg: DestroyConvolutionDescriptor, DestroyFilterDescriptor, DestroyTensorDescriptor,
 * cudnnDestroy */
void end(void *const *arg)
{
    drop(arg[0], &convolution);
    drop(arg[1], &filter);
    drop(arg[2], &out_desc);
    drop(arg[2], &in_desc);
    drop(arg[3], &handle);
}
