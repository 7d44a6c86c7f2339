/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_backward_weight_implicit_gemm.gpu: the gradient is a convolution of the data with the
 * output's gradient as its weight: input channels are its images, images its channels, strides
 * its dilation and the kernel's extents those of its output. Its depth, all pixels of all
 * images, is long and its output small, so it is split over blocks. Serves CUDA and OpenCL.
 */
#include "kernels/convolution/implicit/implicit_rows.h"
#include "kernels/convolution/gradient/backward_weight.h"

/* The shape of that convolution. */
static bool takes(const optune_task *task, conv2d_shape *s, char *why)
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

IMPLICIT_HOOKS(conv2d_backward_weight_implicit, takes, BACKWARD_DATA, BACKWARD_GRAD, false)

OPTUNE_IMPL(conv2d_backward_weight, implicit_gemm) =
    IMPLICIT_ROW(conv2d_backward_weight_implicit, "conv2d_backward_weight",
                 "conv2d_backward_weight_implicit_gemm.gpu",
                 "a convolution with the gradient as its weight, its depth split over blocks");
