/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows of float32 products by tiles share (kernels/matmul/split.kernel.h): which machines
 * have them, and the sizes of panels. Host code only; it owns nothing and allocates nothing.
 */
#ifndef OPTUNE_KERNELS_SPLIT_H
#define OPTUNE_KERNELS_SPLIT_H

#include "kernels/matmul/dot.h"

/* Rows or columns of a panel; depth of a step; bytes of a panel's step, and of a block's sums. */
enum { SPLIT_PANEL = 32, SPLIT_DEPTH = 32, SPLIT_STEP_BYTES = 6144, SPLIT_SUM_BYTES = 4096 };

static inline bool split_here(const optune_task *task, char *why)
{
    const int dots = task->device->vector_bytes == 64 ? task->device->dots : 0;
    return (dots & OPTUNE_DOT_TILE_BF16) != 0 ||
           optune_refuse(why, "needs AVX-512 and AMX for bfloat16, of processor and compiler: "
                              "'optune devices' tells");
}

static inline int64_t split_steps(int64_t k)
{
    return host_ceil(k, SPLIT_DEPTH);
}

/* Bytes of `panels` of an operand that is kept, with what stands in front of them. */
static inline int64_t split_kept_bytes(int64_t panels, int64_t k)
{
    return host_ceil(panels, 8) * 64 + panels * split_steps(k) * SPLIT_STEP_BYTES;
}

#endif
