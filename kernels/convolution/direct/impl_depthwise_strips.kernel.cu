/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution in NCHW, without shared memory: a thread has EACH rows and WIDE columns of
 * outputs. It moves a row of the input once for all of them, in VECTORS aligned vectors of WIDE
 * elements, the first at START behind x * SW: rows are multiples of WIDE, so that a vector lies in
 * the image or outside of it. What its neighbours need, too, they find in the cache.
 *
 * Macros: the shape, SCALAR, IN_T IN_OF OUT_T RESULT_BY, INDEX, THREADS EACH WIDE START VECTORS,
 * KEEPS.
 */
#include "kernels/convolution/direct/depthwise_gpu.kernel.h"
#include "kernels/convolution/direct/strips.kernel.h"

#define STRIPS_X CEIL_DIV(OW, WIDE)
#define STRIPS_Y CEIL_DIV(OH, EACH)
#define SHIFT (-PL - (START)) /* of the first tap in the first vector */

VECTOR(vec_in, IN_T, WIDE);
VECTOR(vec_out, OUT_T, WIDE);

KERNEL(THREADS, 1, 1)
depthwise(GLOBAL const IN_T *RESTRICT data, GLOBAL const IN_T *RESTRICT weight,
          GLOBAL OUT_T *RESTRICT out EPILOGUE_PARAMETERS)
{
    const INDEX item = (INDEX)BLOCK_X * THREADS + THREAD_X;
    const INDEX strip = item / STRIPS_X, plane = strip / STRIPS_Y;
    if (plane >= (INDEX)N * CO)
        return;
    const int x = (int)(item % STRIPS_X) * WIDE, y = (int)(strip % STRIPS_Y) * EACH;
    const int top = y * SH - PT, left = x * SW + (START);
    GLOBAL const IN_T *const from = INPUT_PLANE(data, plane) + (i64)top * W + left;
    GLOBAL const IN_T *const taps = TAPS_OF(weight, plane);
    DTYPE acc[EACH][WIDE];
    STRIP_WEIGHTS(taps)
    STRIP_CLEAR(acc)
    UNROLL
    for (int i = 0; i < STRIP_ROWS; i++) {
        DTYPE row[VECTORS * WIDE];
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            vec_in held; /* a guard around no more than the load, so that none waits */
            UNROLL
            for (int l = 0; l < WIDE; l++)
                held.v[l] = 0;
            if (top + i >= 0 && top + i < H && left + v * WIDE >= 0 && left + v * WIDE < W)
                held = *(GLOBAL const vec_in *)(from + i * W + v * WIDE);
            UNROLL
            for (int l = 0; l < WIDE; l++)
                row[v * WIDE + l] = (DTYPE)IN_OF(held.v[l]);
        }
        STRIP_ADD(acc, row + SHIFT, taps, i)
    }
    const INDEX to = plane * (OH * OW) + (INDEX)y * OW + x;
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (y + e < OH)
            STORE_ROW(vec_out, WIDE, out, to + e * OW, x, acc[e]);
}
