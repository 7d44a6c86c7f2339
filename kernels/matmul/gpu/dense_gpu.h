/* SPDX-License-Identifier: Apache-2.0 */
/* dense as the product that all GPU templates compute (kernels/matmul/gpu/matmul_gpu.h). Host code
 * only. */
#ifndef OPTUNE_KERNELS_DENSE_GPU_H
#define OPTUNE_KERNELS_DENSE_GPU_H

#include "kernels/matmul/dense.h"
#include "kernels/matmul/gpu/matmul_gpu.h"

matmul_gpu dense_gpu(const optune_call *call);

#endif
