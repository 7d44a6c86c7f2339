/* SPDX-License-Identifier: Apache-2.0 */
/* A counter of a block in shared memory: LOCAL_ADD(p, n) adds to the int at `p`, for one thread
 * after the other, and gives what it was. CUDA's; tests put an emulation in front of a body
 * (tests/races/words.h). */
#ifndef OPTUNE_KERNELS_COMMON_COUNTER_GPU_H
#define OPTUNE_KERNELS_COMMON_COUNTER_GPU_H

#include "kernels/common/gpu.kernel.h"

#ifdef OT_CUDA
#define LOCAL_ADD(p, n) atomicAdd(p, n)
#endif

#endif
