/* SPDX-License-Identifier: Apache-2.0 */
/* batch_matmul_gemv.gpu by the body that all matrix products share. */
#include "kernels/matmul/gpu/impls_gemv.kernel.cu"
