/* SPDX-License-Identifier: Apache-2.0 */
/* The product by warpgroups: data is x, weight is y, both with their rows along the depth. */
#include "kernels/matmul/gpu/impls_wgmma.kernel.cu"
