/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_tile.gpu: large products by tiles in shared memory, CUDA and OpenCL. The
 * fallback is sized by the shape, so that an untuned product is never computed by one dot product a
 * block.
 */
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_tile.h"

MATMUL_GPU_HOOKS(dense_tile, tile, dense_gpu, dense_applies)

OPTUNE_IMPL(matmul_gpu, tile) = MATMUL_GPU_ROW(dense_tile, "dense", "dense_tile.gpu",
                                   "tiles in shared memory, a block of the output in registers",
                                   "data.0");
