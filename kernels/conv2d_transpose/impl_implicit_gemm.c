/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_transpose_implicit_gemm.gpu: every pixel of the output gathers what reaches it, so
 * nothing is added up in memory. With strides, taps that reach a pixel from between two inputs
 * are multiplied as zeros. Serves CUDA and OpenCL.
 */
#include "kernels/convolution/implicit/implicit_rows.h"
#include "kernels/convolution/gradient/conv2d_transpose.h"

static bool takes(const optune_task *task, conv2d_shape *s, char *why)
{
    if (!transpose_shape_of(task->call, s))
        return optune_refuse(why, "needs constant shapes");
    return tensor_is_float(&task->call->output[0]) ||
           optune_refuse(why, "needs float32 or float64");
}

IMPLICIT_HOOKS(conv2d_transpose_implicit, takes, TRANSPOSE_DATA, TRANSPOSE_WEIGHT, true)

OPTUNE_IMPL(conv2d_transpose, implicit_gemm) = IMPLICIT_ROW(
    conv2d_transpose_implicit, "conv2d_transpose", "conv2d_transpose_implicit_gemm.gpu",
    "a product over pixels that gather what reaches them");
