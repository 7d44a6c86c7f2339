/* SPDX-License-Identifier: Apache-2.0 */
/* dense is a batch of one product. */
#include "kernels/matmul/gpu/impls_mma.kernel.cu"
