/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of compute capability 9.0 for GPU bodies: boxes of a tensor copied into shared memory
 * by the copy engine, barriers in shared memory that count threads and bytes, and matrix
 * products of a warpgroup (128 consecutive threads). wgmma_cuda.kernel.h has them as PTX,
 * wgmma_opencl.kernel.h computes the same for tests: rows that use these words ask for CUDA, so
 * users of OpenCL are never offered them.
 *
 * A body declares WARPGROUPS(w, pool) behind SHARED and passes &w to every word. The pool has
 * WARPGROUP_SLACK bytes more than what is used; u32 addresses in it start at shared_base(&w),
 * aligned to 1024. A parameter TENSOR_MAP(name) stands for an argument optune_tensor_map_arg.
 *
 * Operands of a product are rows of 128 bytes of depth, swizzled by the copy (`swizzle` 128),
 * whose tile starts on 1024 bytes: rows_128(address + 32 s) is step `s` of its four. One
 * product is 64 rows of A by n columns of B over 32 bytes of depth: 16 float16 or bfloat16, 8
 * tf32, 32 int8. With warp, lane of the thread in its warpgroup, d[r], r < n / 2, is
 *   row 16 warp + lane / 4 + 8 (r / 2 % 2), column 8 (r / 4) + 2 (lane % 4) + r % 2
 */
#ifndef OPTUNE_KERNELS_COMMON_WGMMA_GPU_H
#define OPTUNE_KERNELS_COMMON_WGMMA_GPU_H

#include "kernels/common/gpu.kernel.h"

#define WARPGROUP_SLACK 1024
#define OT_JOIN(a, b) a##b
#define OT_JOINED(a, b) OT_JOIN(a, b)

#include "kernels/common/wgmma_cuda.kernel.h"
#include "kernels/common/wgmma_opencl.kernel.h"

#endif
