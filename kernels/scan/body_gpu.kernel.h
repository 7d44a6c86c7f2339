/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU bodies of scans share. Macros from the plan: see kernels/scan/body.kernel.h, and
 * THREADS, PARTS (of a line), LINE_BLOCKS (blocks for one part of all lines), EACH, IN_OF, IN_ONE
 * (one as it is read), OUT_T (what is written) and RESULT_BY. Integers that accumulate are
 * unsigned, so that they wrap; 16-bit floats accumulate in float, and each result is rounded once.
 */
#ifndef OPTUNE_KERNELS_SCAN_BODY_GPU_H
#define OPTUNE_KERNELS_SCAN_BODY_GPU_H

#include "kernels/common/team.kernel.h"

/* The type in which outputs are rounded, as RESULT_BY calls it. */
#define SCALAR DTYPE

#if PRODUCT
#define OP(a, b) ((a) * (b))
#else
#define OP(a, b) ((a) + (b))
#endif
#define NEUTRAL ((DTYPE)PRODUCT)
#define IN_NEUTRAL ((IN)(PRODUCT ? IN_ONE : 0))
/* An element to accumulate, and what is stored of what was. */
#define LOADED(x) ((DTYPE)IN_OF(x))
#define STORED(x) ((OUT_T)(RESULT_BY(x)))
#define LINES ((i64)OUTER * INNER)

#define PART (BLOCK_X / LINE_BLOCKS)
#define GROUP (BLOCK_X % LINE_BLOCKS)
/* Elements of a line that part `p` begins with. */
#define PART_FROM(p) ((i64)N * (p) / PARTS)

#endif
