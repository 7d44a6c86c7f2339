/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_implicit_gemm.gpu: a product over pixels, channels and taps whose left operand is gathered
 * as it is needed; every stride, dilation, padding and number of groups. Weights are packed by a
 * stage of their own, outside the time where they are constant. Small outputs split the depth, so
 * that the device is filled. Serves CUDA and OpenCL.
 */
#include "kernels/convolution/conv2d.h"
#include "kernels/convolution/implicit/implicit_rows.h"

IMPLICIT_HOOKS(conv2d_implicit, conv2d_applies, CONV2D_DATA, CONV2D_WEIGHT, false)

OPTUNE_IMPL(convolution_implicit, gemm) =
    IMPLICIT_ROW(conv2d_implicit, "conv2d", "conv2d_implicit_gemm.gpu",
                 "a product over pixels, patches gathered into shared memory");
