/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_transpose_gemm.cpu. Macros from the plan: the shape, BLOCK (output channels at a
 * time), PRODUCT (elements of their product), MEMORY (of a thread: the product and a panel),
 * the tile of kernels/matmul/gemm.kernel.h.
 *
 * The one idea: for one group, weight is a matrix [CI_G][CO_G * KH * KW] and an image a matrix
 * [CI_G][H * W], both read in place: the product has for every output channel and tap a plane
 * of H x W, which lands SH, SW apart in the output.
 */
#include "kernels/matmul/gemm.kernel.h"

#define PIXELS ((i64)H * W)
#define TAPS (KH * KW)
#define BLOCKS CEIL_DIV(CO_G, BLOCK)
#define A_K ((i64)CO_G * TAPS)

INLINE void tiles(const DTYPE *a, const DTYPE *panel, i64 panel_k, DTYPE *to, i64 rows,
                  const int cols)
{
    i64 i = 0;
    for (; i + GEMM_MR <= rows; i += GEMM_MR) {
        gemm_acc acc;
        gemm_start(acc, GEMM_MR, 0, cols);
        gemm_mac(acc, GEMM_MR, CI_G, a + i, 1, A_K, panel, panel_k);
        gemm_store(acc, GEMM_MR, to + i * PIXELS, PIXELS, cols);
    }
    for (int left = (int)(rows % GEMM_MR); left > 0; left--, i++) { /* few, as gcc can see */
        gemm_acc acc;
        gemm_start(acc, 1, 0, cols);
        gemm_mac(acc, 1, CI_G, a + i, 1, A_K, panel, panel_k);
        gemm_store(acc, 1, to + i * PIXELS, PIXELS, cols);
    }
}

/* to[rows][PIXELS] = weight' x image */
INLINE void product(const DTYPE *weight, const DTYPE *image, DTYPE *to, DTYPE *panel, i64 rows)
{
    for (i64 p = 0; p + GEMM_NR <= PIXELS; p += GEMM_NR)
        tiles(weight, image + p, PIXELS, to + p, rows, GEMM_NR);
    if (PIXELS % GEMM_NR) {
        const i64 p = PIXELS / GEMM_NR * GEMM_NR;
        gemm_pack_b(panel, image + p, PIXELS, PIXELS % GEMM_NR, CI_G);
        tiles(weight, panel, GEMM_NR, to + p, rows, PIXELS % GEMM_NR);
    }
}

/* Positions y of the data whose tap lands inside: [first, last). */
#define FIRST(shift, stride) ((shift) >= 0 ? 0 : (-(shift) + (stride)-1) / (stride))
#define LAST(shift, stride, in, out)                                                           \
    ((out) <= (shift) ? 0 : MIN((i64)(in), ((out) - (shift)-1) / (stride) + 1))

/* One output channel from the planes of its taps. */
INLINE void gather(const DTYPE *restrict from, DTYPE *restrict out)
{
    for (i64 i = 0; i < (i64)OH * OW; i++)
        out[i] = 0;
    for (i64 i = 0; i < KH; i++)
        for (i64 j = 0; j < KW; j++, from += PIXELS) {
            const i64 down = i * DH - PT, right = j * DW - PL;
            const i64 y0 = FIRST(down, SH), y1 = LAST(down, SH, H, OH);
            const i64 x0 = FIRST(right, SW), x1 = LAST(right, SW, W, OW);
            for (i64 y = y0; y < y1; y++)
                for (i64 x = x0; x < x1; x++)
                    out[(y * SH + down) * OW + x * SW + right] += from[y * W + x];
        }
}

/* arg: data, weight, out, memory of the threads */
void conv2d_transpose(void *const *arg)
{
    const DTYPE *data = arg[0], *weight = arg[1];
    DTYPE *out = arg[2];
    PARALLEL_FOR
    for (i64 task = 0; task < (i64)N * GROUPS * BLOCKS; task++) {
        const i64 ng = task / BLOCKS, g = ng % GROUPS, co = task % BLOCKS * BLOCK;
        const i64 channels = MIN(BLOCK, CO_G - co);
        DTYPE *memory = (DTYPE *)arg[3] + THREAD * (i64)MEMORY;
        product(weight + g * CI_G * A_K + co * TAPS, data + ng * CI_G * PIXELS, memory,
                memory + PRODUCT, channels * TAPS);
        for (i64 c = 0; c < channels; c++)
            gather(memory + c * TAPS * PIXELS, out + (ng * CO_G + co + c) * ((i64)OH * OW));
    }
}
