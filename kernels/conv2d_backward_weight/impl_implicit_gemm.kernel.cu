/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_backward_weight_implicit_gemm.gpu: conv2d's product, images and channels exchanged. */
#define TRANSPOSED 0
#define WEIGHT_GRADIENT 1
#include "kernels/convolution/implicit/impls_gemm.kernel.cu"
