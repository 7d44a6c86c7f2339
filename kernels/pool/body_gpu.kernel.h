/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU bodies of pooling and its gradients share. Macros from the plan: see pool_module in
 * kernels/pool/pool.h, THREADS, EACH, UNROLL_Y, UNROLL_X.
 */
#ifndef OPTUNE_KERNELS_POOL_BODY_GPU_H
#define OPTUNE_KERNELS_POOL_BODY_GPU_H

#define SCALAR DTYPE
#define SCALAR_REAL 1
#define SCALAR_BITS 64 /* functions by their names; pooling calls none */
#include "kernels/common/scalar_gpu.kernel.h"

/* EACH of the elements of [PLANES][ROWS][COLS][BLOCK], a block's width apart, as o, plane, y,
 * x, c. */
#define FOR_EACH(ROWS, COLS)                                                                   \
    UNROLL_BY(1)                                                                               \
    for (int e = 0; e < EACH; e++) {                                                           \
        const INDEX o = ((INDEX)BLOCK_X * EACH + e) * THREADS + THREAD_X;                      \
        const int c = (int)(o % BLOCK), x = (int)(o / BLOCK % (COLS));                         \
        const INDEX row = o / BLOCK / (COLS), plane = row / (ROWS);                            \
        const int y = (int)(row % (ROWS));                                                     \
        if (plane < PLANES) {
#define END_EACH                                                                               \
    }                                                                                          \
    }

INLINE bool inside(int at, int extent)
{
    return at >= 0 && at < extent;
}

/* Positions that a mean counts along one axis, for the window that starts at `start`. */
INLINE int counted(int start, int taps, int dilation, int extent, int after)
{
    const int end = COUNT_PAD ? extent + after : extent;
    const int last = end > start ? MIN(taps, (end - start + dilation - 1) / dilation) : 0;
    const int first = !COUNT_PAD && start < 0 ? (dilation - 1 - start) / dilation : 0;
    return MAX(last - first, 0);
}

INLINE DTYPE counts(int oy, int ox)
{
    return (DTYPE)counted(oy * SH - PT, KH, DH, H, PB) *
           (DTYPE)counted(ox * SW - PL, KW, DW, W, PR);
}

/* Whether a mean counts every tap of the window that starts here. Not asked as counted() == taps:
 * NVRTC 13.0 makes one VIMNMX.RELU of such a minimum and a wrong predicate of its comparison. */
INLINE bool counts_all(int start, int taps, int dilation, int extent, int after)
{
    const int last = start + (taps - 1) * dilation;
    return UNIFORM ||
           ((COUNT_PAD || start >= 0) && last < (COUNT_PAD ? extent + after : extent));
}

/* The window whose tap is `back` in front of its place in the data; -1: none. */
INLINE int window_of(int back, int stride, int windows)
{
    return back >= 0 && back % stride == 0 && back / stride < windows ? back / stride : -1;
}

#endif
