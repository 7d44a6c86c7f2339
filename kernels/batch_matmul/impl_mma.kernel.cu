/* SPDX-License-Identifier: Apache-2.0 */
/* batch_matmul is a batch of products. */
#include "kernels/matmul/gpu/impls_mma.kernel.cu"
