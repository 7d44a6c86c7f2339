/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_tile.gpu: large products by tiles in shared memory, CUDA and OpenCL. The
 * fallback is sized by the shape, so that an untuned product is never computed by one dot product a
 * block.
 */
#include "kernels/dense/dense_gpu.h"
#include "kernels/dense/matmul_gpu_tile.h"

MATMUL_GPU_IMPL(dense, tile, "dense_tile.gpu", tile,
                "tiles in shared memory, a block of the output in registers", dense_gpu,
                dense_applies, "data.0");
