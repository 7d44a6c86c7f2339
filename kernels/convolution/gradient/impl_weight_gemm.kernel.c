/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_backward_weight_gemm.cpu. Macros from the plan: the shape, KC (output pixels at a
 * time), MEMORY (of a thread), the tile of kernels/matmul/gemm.kernel.h.
 *
 * The one idea: for one group the result is a matrix [CO_G][CI_G * KH * KW] and an image's
 * gradient a matrix [CO_G][OH * OW], read in place. The other factor has a column for each
 * element of a kernel: the data as that element saw it, gathered row by row and transposed into
 * a panel.
 */
#include "kernels/matmul/gemm.kernel.h"

#define PIXELS ((i64)OH * OW)
#define COLS ((i64)CI_G * KH * KW)
#define PANELS CEIL_DIV(COLS, GEMM_NR)

/* What column `col` of the weight saw at output pixels [p, p + depth). */
INLINE void see(DTYPE *restrict to, const DTYPE *image, i64 col, i64 p, i64 depth)
{
    const i64 down = col / KW % KH * DH - PT, right = col % KW * DW - PL;
    const DTYPE *plane = image + col / (KH * KW) * ((i64)H * W);
    const i64 first = right >= 0 ? 0 : (-right + SW - 1) / SW;
    const i64 last = W <= right ? 0 : MIN((i64)OW, (W - right - 1) / SW + 1);
    for (i64 end = p + depth; p < end;) {
        const i64 oy = p / OW, ox = p % OW, n = MIN(OW - ox, end - p);
        const i64 y = oy * SH + down;
        const int inside = y >= 0 && y < H;
        const i64 lo = inside ? MIN(MAX(first, ox), ox + n) : ox + n;
        const i64 hi = inside ? MAX(lo, MIN(last, ox + n)) : lo;
        for (i64 x = ox; x < lo; x++)
            *to++ = 0;
        for (i64 x = lo; x < hi; x++)
            *to++ = plane[y * W + x * SW + right];
        for (i64 x = hi; x < ox + n; x++)
            *to++ = 0;
        p += n;
    }
}

INLINE void tile(const DTYPE *grad, const DTYPE *panel, DTYPE *out, const int rows,
                 const int cols, i64 depth, const int more)
{
    gemm_acc acc;
    if (more)
        gemm_load(acc, rows, out, COLS, cols);
    else
        gemm_start(acc, rows, 0, cols);
    gemm_mac(acc, rows, depth, grad, PIXELS, 1, panel, GEMM_NR);
    gemm_store(acc, rows, out, COLS, cols);
}

INLINE void block(const DTYPE *grad, const DTYPE *image, DTYPE *out, DTYPE *memory, i64 col,
                  const int cols, i64 p, i64 depth, const int more)
{
    DTYPE *panel = memory, *seen = memory + MEMORY / 2;
    for (int j = 0; j < cols; j++)
        see(seen + j * depth, image, col + j, p, depth);
    gemm_pack_bt(panel, seen, depth, cols, depth);
    i64 i = 0;
    for (; i + GEMM_MR <= CO_G; i += GEMM_MR)
        tile(grad + i * PIXELS + p, panel, out + i * COLS, GEMM_MR, cols, depth, more);
    if (CO_G % GEMM_MR)
        tile(grad + i * PIXELS + p, panel, out + i * COLS, CO_G % GEMM_MR, cols, depth, more);
}

/* arg: grad, data, out, memory of the threads */
void backward_weight(void *const *arg)
{
    const DTYPE *grad = arg[0], *data = arg[1];
    DTYPE *out = arg[2];
    PARALLEL_FOR
    for (i64 task = 0; task < GROUPS * PANELS; task++) {
        const i64 g = task / PANELS, col = task % PANELS * GEMM_NR;
        DTYPE *memory = (DTYPE *)arg[3] + THREAD * (i64)MEMORY;
        DTYPE *to = out + g * CO_G * COLS + col;
        for (i64 n = 0; n < N; n++)
            for (i64 p = 0; p < PIXELS; p += KC) {
                const DTYPE *dy = grad + (n * GROUPS + g) * CO_G * PIXELS;
                const DTYPE *image = data + (n * GROUPS + g) * CI_G * ((i64)H * W);
                const i64 depth = MIN(KC, PIXELS - p);
                if (col + GEMM_NR <= COLS)
                    block(dy, image, to, memory, col, GEMM_NR, p, depth, n || p);
                else
                    block(dy, image, to, memory, col, COLS % GEMM_NR, p, depth, n || p);
            }
    }
}
