/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_implicit_gemm.gpu: a product over pixels, channels and taps whose left operand is gathered
 * as it is needed; every stride, dilation, padding and number of groups. Weights are packed by a
 * stage of their own, outside the time where they are constant. Small outputs split the depth, so
 * that the device is filled. Serves CUDA and OpenCL.
 */
#include "kernels/convolution/conv2d.h"
#include "kernels/convolution/gradient/backward_weight.h"
#include "kernels/convolution/gradient/conv2d_transpose.h"
#include "kernels/convolution/implicit/implicit_rows.h"

IMPLICIT_HOOKS(conv2d_implicit, conv2d_applies, CONV2D_DATA, CONV2D_WEIGHT, IMPLICIT_PLAIN)

/*
 * conv2d_transpose: every pixel of the output gathers what reaches it, so
 * nothing is added up in memory. With strides, taps that reach a pixel from between two inputs
 * are multiplied as zeros.
 */
static bool transpose_takes(const optune_task *task, conv2d_shape *s, char *why)
{
    if (!transpose_shape_of(task->call, s))
        return optune_refuse(why, "needs constant shapes");
    return tensor_is_float(&task->call->output[0]) ||
           optune_refuse(why, "needs float32 or float64");
}

IMPLICIT_HOOKS(transpose_implicit, transpose_takes, TRANSPOSE_DATA, TRANSPOSE_WEIGHT,
               IMPLICIT_TRANSPOSED)

/*
 * conv2d_backward_weight: the gradient is a convolution of the data with the
 * output's gradient as its weight: input channels are its images, images its channels, strides
 * its dilation and the kernel's extents those of its output. Its depth, all pixels of all
 * images, is long and its output small, so it is split over blocks.
 */
static bool weight_takes(const optune_task *task, conv2d_shape *s, char *why)
{
    conv2d_shape of;
    if (!backward_shape_of(task->call, &of))
        return optune_refuse(why, "needs constant shapes");
    *s = of;
    s->n = of.ci_g;
    s->ci_g = of.n;
    s->ci = of.n * of.groups;
    s->kh = of.oh;
    s->kw = of.ow;
    s->oh = of.kh;
    s->ow = of.kw;
    s->sh = of.dh;
    s->sw = of.dw;
    s->dh = of.sh;
    s->dw = of.sw;
    return tensor_is_float(&task->call->output[0]) ||
           optune_refuse(why, "needs float32 or float64");
}

IMPLICIT_HOOKS(weight_implicit, weight_takes, BACKWARD_DATA, BACKWARD_GRAD,
               IMPLICIT_WEIGHT_GRADIENT)

OPTUNE_IMPLS(convolution_implicit, gemm) = {
    IMPLICIT_ROW(conv2d_implicit, "conv2d", "conv2d_implicit_gemm.gpu",
                 "a product over pixels, patches gathered into shared memory"),
    IMPLICIT_ROW(transpose_implicit, "conv2d_transpose", "conv2d_transpose_implicit_gemm.gpu",
                 "a product over pixels that gather what reaches them"),
    IMPLICIT_ROW(weight_implicit, "conv2d_backward_weight",
                 "conv2d_backward_weight_implicit_gemm.gpu",
                 "a convolution with the gradient as its weight, its depth split over blocks"),
    {0},
};
