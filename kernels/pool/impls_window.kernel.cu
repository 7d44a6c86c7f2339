/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU schedule of pooling: a thread walks EACH windows of one column, one below another.
 * POOL_MEAN: of what they count, else the most.
 *
 * A row of the data under these windows is folded once, for all of them that hold it. What lies
 * where is known from one pointer, so that a load is one instruction with its guard.
 */
#include "kernels/pool/body_gpu.kernel.h"

#if POOL_MEAN
#define START ((DTYPE)0)
#define FOLD(acc, v) ((acc) + (v))
#else
#define START s_lowest
#define FOLD(acc, v) s_max(v, acc)
#endif

#define STRIPS CEIL_DIV(OH, EACH)
#define ROWS ((EACH - 1) * SH + (KH - 1) * DH + 1) /* of the data under the windows */

/* Whether row `i` of these is one of window `e`. */
#define HOLDS(e, i) ((i) >= (e)*SH && (i) <= (e)*SH + (KH - 1) * DH && ((i) - (e)*SH) % DH == 0)

/* What a sum over `rows` counted rows is multiplied by: rounded once more than a division. */
INLINE DTYPE share_of(int rows, int columns)
{
    return rows * columns > 0 ? (DTYPE)1 / (DTYPE)(rows * columns) : (DTYPE)0;
}

/* Whether a mean counts every tap of the window that starts here. Not asked as counted() == taps:
 * NVRTC 13.0 makes one VIMNMX.RELU of such a minimum and a wrong predicate of its comparison. */
INLINE bool counts_all(int start, int taps, int dilation, int extent, int after)
{
    const int last = start + (taps - 1) * dilation;
    return UNIFORM ||
           ((COUNT_PAD || start >= 0) && last < (COUNT_PAD ? extent + after : extent));
}

KERNEL(THREADS, 1, 1)
pool(GLOBAL const IN_T *RESTRICT data, GLOBAL OUT_T *RESTRICT out)
{
    const INDEX item = (INDEX)BLOCK_X * THREADS + THREAD_X;
    const int c = (int)(item % BLOCK), x = (int)(item / BLOCK % OW);
    const INDEX strip = item / BLOCK / OW, plane = strip / STRIPS;
    const int y = (int)(strip % STRIPS) * EACH;
    const int top = y * SH - PT, left = x * SW - PL;
    if (plane >= PLANES)
        return;
    GLOBAL const IN_T *const from = data + (((i64)plane * H + top) * W + left) * BLOCK + c;
    DTYPE acc[EACH];
    UNROLL
    for (int e = 0; e < EACH; e++)
        acc[e] = START;
    UNROLL_BY(UNROLL_Y)
    for (int i = 0; i < ROWS; i++) {
        DTYPE row = START;
        bool held = false; /* not between taps that are dilated */
        UNROLL
        for (int e = 0; e < EACH; e++)
            held = held || HOLDS(e, i);
        UNROLL_BY(UNROLL_X)
        for (int j = 0; j < KW; j++) {
            DTYPE v = START; /* a guard around no more than the load, so that none waits */
            if (held && inside(top + i, H) && inside(left + j * DW, W))
                v = (DTYPE)IN_OF(from[((INDEX)i * W + j * DW) * BLOCK]);
            row = FOLD(row, v);
        }
        UNROLL
        for (int e = 0; e < EACH; e++)
            if (HOLDS(e, i))
                acc[e] = FOLD(acc[e], row);
    }
    GLOBAL OUT_T *const to = out + (((i64)plane * OH + y) * OW + x) * BLOCK + c;
#if POOL_MEAN
    const int columns = counted(left, KW, DW, W, PR);
    const DTYPE whole =
        counts_all(left, KW, DW, W, PR) ? share_of(KH, KW) : share_of(KH, columns);
#endif
    UNROLL
    for (int e = 0; e < EACH; e++) {
        if (y + e < OH) {
#if POOL_MEAN
            const int at = top + e * SH;
            acc[e] *= counts_all(at, KH, DH, H, PB)
                          ? whole
                          : share_of(counted(at, KH, DH, H, PB), columns);
#endif
            to[(INDEX)e * (OW * BLOCK)] = RESULT(acc[e]);
        }
    }
}
