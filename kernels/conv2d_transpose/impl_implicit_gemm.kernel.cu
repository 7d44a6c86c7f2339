/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_transpose_implicit_gemm.gpu: conv2d's product, with pixels that look the other way. */
#define TRANSPOSED 1
#define WEIGHT_GRADIENT 0
#include "kernels/convolution/implicit/impls_gemm.kernel.cu"
