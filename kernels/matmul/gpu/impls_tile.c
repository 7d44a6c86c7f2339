/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <op>_tile.gpu: large products by tiles in shared memory, CUDA and OpenCL. The
 * fallback is sized by the shape, so that an untuned product is never computed by one dot product a
 * block.
 */
#include "kernels/matmul/gpu/batch_matmul_gpu.h"
#include "kernels/matmul/gpu/dense_gpu.h"
#include "kernels/matmul/gpu/matmul_gpu_tile.h"

MATMUL_GPU_HOOKS(dense_tile, tile, dense_gpu, dense_applies)

MATMUL_GPU_HOOKS(batch_matmul_tile, tile, batch_matmul_gpu, batch_matmul_applies)

OPTUNE_IMPLS(matmul_gpu, tile) = {
    MATMUL_GPU_ROW(dense_tile, "dense", "dense_tile.gpu",
                   "tiles in shared memory, a block of the output in registers", "data.0"),
    MATMUL_GPU_ROW(batch_matmul_tile, "batch_matmul", "batch_matmul_tile.gpu",
                   "tiles in shared memory, a block of the output in registers", "x.0 x.1 y.0"),
    {0},
};
