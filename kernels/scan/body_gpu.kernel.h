/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU bodies of scans share. Macros from the plan: see kernels/scan/body.kernel.h, and
 * THREADS, PARTS (of a line), LINE_BLOCKS (blocks for one part of all lines), EACH. Integers
 * that accumulate are unsigned, so that they wrap.
 */
#ifndef OPTUNE_KERNELS_SCAN_BODY_GPU_H
#define OPTUNE_KERNELS_SCAN_BODY_GPU_H

#include "kernels/common/team.kernel.h"

#if PRODUCT
#define OP(a, b) ((a) * (b))
#else
#define OP(a, b) ((a) + (b))
#endif
#define NEUTRAL ((DTYPE)PRODUCT)
#define LINES ((i64)OUTER * INNER)

#define PART (BLOCK_X / LINE_BLOCKS)
#define GROUP (BLOCK_X % LINE_BLOCKS)
/* Elements of a line that part `p` begins with. */
#define PART_FROM(p) ((i64)N * (p) / PARTS)

#endif
