/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of matrix products by warpgroups, for operands whose rows lie along the depth.
 * Macros beside the tile's: X_SHARED Y_SHARED (one matrix for all b).
 */
#define COPY_X(to, p, panel, barrier)                                                          \
    copy_box_3d(to, x, (panel)*PANEL, (p).m, X_SHARED ? 0 : (p).b, barrier)
#define COPY_Y(to, p, panel, slice, barrier)                                                   \
    COPY_BOX_OF_ALL(to, y, (panel)*PANEL, (p).n + (slice), Y_SHARED ? 0 : (p).b, barrier)
#define LINE N
#define OUT_AT(b, m, n) (((INDEX)(b)*M + (m)) * N + (n))
#define STORE_BOX(b, m, n, from) store_box_3d(out, n, m, b, from)
#include "kernels/matmul/gpu/wgmma_tile_gpu.kernel.h"
