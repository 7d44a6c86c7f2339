/* SPDX-License-Identifier: Apache-2.0 */
/* dense_tile.gpu by the body that all matrix products share. */
#include "kernels/matmul/gpu/impls_tile.kernel.cu"
