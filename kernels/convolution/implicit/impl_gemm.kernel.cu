/* SPDX-License-Identifier: Apache-2.0 */
/* conv2d_implicit_gemm.gpu: see the header. */
#define TRANSPOSED 0
#define WEIGHT_GRADIENT 0
#include "kernels/convolution/implicit/impls_gemm.kernel.cu"
