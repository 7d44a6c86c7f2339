/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution in NCHW of float32: PLANES bands of planes, what their windows see of the
 * input, lie in shared memory with zeros around, where every row begins at a vector whatever its
 * length in memory; some threads of a warp move one, so that nothing is divided. A band has DOWN
 * strips below each other.
 *
 * Macros: the shape, IN_T IN_OF OUT_T RESULT_BY, INDEX, THREADS PLANES DOWN EACH WIDE KEEPS.
 */
#include "kernels/common/epilogue_gpu.kernel.h"
#include "kernels/common/mma_gpu.kernel.h"
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
        GLOBAL const float *const line =
            data +
            (there ? ((i64)(plane / CO) * CI + plane % CO / CO_G) * (H * W) + (i64)y * W : 0);
        UNROLL
        for (int c = 0; c < CEIL_DIV(IN_COLUMNS, LANES); c++) {
            const int at = c * LANES + THREAD_X % LANES, x = at - PL;
            const bool inside = there && x >= 0 && x < W;
            LOCAL float *const to = held + row * IN_COLUMNS + at;
            if (at >= IN_COLUMNS)
                continue;
#ifdef CP_ASYNC_WAIT
            cp_async_4_zero(to, line + (inside ? x : 0), inside ? 4 : 0);
#else
            *to = inside ? line[x] : 0;
#endif
        }
    }
#ifdef CP_ASYNC_WAIT
    cp_async_commit();
#endif
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
    GLOBAL const float *const taps = weight + (i64)(plane % CO) * TAPS;
    float acc[EACH][WIDE];
    stage_bands(held, data);
    STRIP_WEIGHTS(taps)
    STRIP_CLEAR(acc)
#ifdef CP_ASYNC_WAIT
    CP_ASYNC_WAIT(0);
#endif
    BARRIER();
    if (mine) {
        LOCAL const float *const from =
            held + (p * IN_ROWS + down * SH) * IN_COLUMNS + x * SW;
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
            if (y + e < OH) {
                vec v;
                UNROLL
                for (int l = 0; l < WIDE; l++) {
                    if (OW % WIDE == 0 || x + l < OW) {
#if EPILOGUE
                        float value = acc[e][l];
                        EPILOGUE_APPLY(value, (to + e * OW + l))
                        v.v[l] = EPILOGUE_WRITE(value);
#else
                        v.v[l] = acc[e][l];
#endif
                        if (OW % WIDE)
                            out[to + e * OW + l] = v.v[l];
                    }
                }
                if (OW % WIDE == 0)
                    STORE_VECTOR((GLOBAL vec *)(out + to + e * OW), v);
            }
    }
}
