/* SPDX-License-Identifier: Apache-2.0 */
/* batch_matmul as the product that all GPU templates compute (kernels/matmul/gpu/matmul_gpu.h).
 * Host code only. */
#ifndef OPTUNE_KERNELS_BATCH_MATMUL_GPU_H
#define OPTUNE_KERNELS_BATCH_MATMUL_GPU_H

#include "kernels/matmul/batch_matmul.h"
#include "kernels/matmul/gpu/matmul_gpu.h"

matmul_gpu batch_matmul_gpu(const optune_call *call);

#endif
