/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution in NCHW of float32: PLANES bands of planes, what their windows see of the
 * input, lie in shared memory with zeros around, where every row begins at a vector whatever its
 * length in memory; some threads of a warp move one, so that nothing is divided. A band has DOWN
 * strips below each other.
 *
 * Macros: the shape, IN_T IN_OF OUT_T RESULT_BY, INDEX, THREADS PLANES DOWN EACH WIDE KEEPS.
 */
#include "kernels/convolution/direct/depthwise_gpu.kernel.h"
#include "kernels/convolution/direct/strips.kernel.h"

#define ACROSS CEIL_DIV(OW, WIDE)
#define STRIPS (ACROSS * DOWN) /* of a band */
#define ROWS (DOWN * EACH)
#define BANDS CEIL_DIV(OH, ROWS)
#define VECTORS CEIL_DIV(STRIP_VALUES, WIDE)
#define IN_ROWS ((ROWS - 1) * SH + (KH - 1) * DH + 1)
#define IN_COLUMNS (((ACROSS - 1) * SW + VECTORS) * WIDE)
#define IN_ELEMENTS (PLANES * IN_ROWS * IN_COLUMNS)

#define LANES (IN_COLUMNS > 16 ? 32 : IN_COLUMNS > 8 ? 16 : 8) /* threads of a row */

VECTOR(vec, float, WIDE);

/* The item that band `p` of this block is. */
#define ITEM(p) ((INDEX)BLOCK_X * PLANES + (INDEX)(p))
#define ITEMS ((INDEX)N * CO * BANDS)

INLINE void stage_bands(LOCAL float *held, GLOBAL const float *RESTRICT data)
{
    UNROLL_BY(1)
    for (int row = THREAD_X / LANES; row < PLANES * IN_ROWS; row += THREADS / LANES) {
        const int p = PLANES > 1 ? row / IN_ROWS : 0;
        const INDEX item = ITEM(p), plane = item / BANDS;
        const int y = (int)(item % BANDS) * (ROWS * SH) - PT + row - p * IN_ROWS;
        const bool there = y >= 0 && y < H && (PLANES == 1 || item < ITEMS);
        GLOBAL const float *const line = there ? INPUT_PLANE(data, plane) + (i64)y * W : data;
        UNROLL
        for (int c = 0; c < CEIL_DIV(IN_COLUMNS, LANES); c++) {
            const int at = c * LANES + THREAD_X % LANES, x = at - PL;
            const bool inside = there && x >= 0 && x < W;
            if (at < IN_COLUMNS)
                STAGE(4, held + row * IN_COLUMNS + at, line + (inside ? x : 0), inside);
        }
    }
    STAGE_COMMIT();
}

KERNEL(THREADS, 1, 1)
depthwise(GLOBAL const float *RESTRICT data, GLOBAL const float *RESTRICT weight,
          GLOBAL OUT_T *RESTRICT out EPILOGUE_PARAMETERS)
{
    SHARED(pool, IN_ELEMENTS * sizeof(float));
    LOCAL float *const held = (LOCAL float *)pool;
    const int strip = THREAD_X % STRIPS, p = THREAD_X / STRIPS;
    const bool mine = p < PLANES && ITEM(p) < ITEMS;
    const INDEX plane = mine ? ITEM(p) / BANDS : 0;
    const int x = strip % ACROSS * WIDE, down = strip / ACROSS * EACH;
    GLOBAL const float *const taps = TAPS_OF(weight, plane);
    float acc[EACH][WIDE];
    stage_bands(held, data);
    STRIP_WEIGHTS(taps)
    STRIP_CLEAR(acc)
    STAGE_WAIT();
    BARRIER();
    if (mine) {
        LOCAL const float *const from = held + (p * IN_ROWS + down * SH) * IN_COLUMNS + x * SW;
        UNROLL
        for (int i = 0; i < STRIP_ROWS; i++) {
            float row[VECTORS * WIDE];
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                const vec one = *(LOCAL const vec *)(from + i * IN_COLUMNS + v * WIDE);
                UNROLL
                for (int l = 0; l < WIDE; l++)
                    row[v * WIDE + l] = one.v[l];
            }
            STRIP_ADD(acc, row, taps, i)
        }
    }
    if (mine) {
        const int y = (int)(ITEM(p) % BANDS) * ROWS + down;
        const INDEX to = plane * (OH * OW) + (INDEX)y * OW + x;
        UNROLL
        for (int e = 0; e < EACH; e++)
            if (y + e < OH)
                STORE_ROW(vec, WIDE, out, to + e * OW, x, acc[e]);
    }
}
