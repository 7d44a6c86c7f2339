/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's words for the threads of a warp, all of which come to each of them together. OpenCL 1.2
 * has none; tests put an emulation in front of a body (tests/races/words.h).
 */
#ifndef OPTUNE_KERNELS_COMMON_WARP_GPU_H
#define OPTUNE_KERNELS_COMMON_WARP_GPU_H

#include "kernels/common/gpu.kernel.h"

#ifdef OT_CUDA
/* The barrier of a warp. */
#define WARP_BARRIER() __syncwarp()
/* A bit for each of its threads, set where `c` is true there. */
#define WARP_VOTE(c) __ballot_sync(~0u, c)
/* The number of the lowest bit of a u32 that is not 0, and how many are set. */
#define LOWEST_BIT(bits) (__ffs((int)(bits)) - 1)
#endif

#endif
