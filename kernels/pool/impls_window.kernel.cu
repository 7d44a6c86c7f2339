/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU schedule of pooling: a thread walks EACH windows of WIDE columns, one below another.
 * POOL_MEAN: of what they count, else the most.
 *
 * A row of the data under these windows is folded once, for all of them that hold it. What lies
 * where is known from one pointer, so that a load is one instruction with its guard. WIDE columns
 * (of NCHW, whose rows are multiples of WIDE) share VECTORS aligned vectors of a row, the first of
 * them FIRST elements behind x * SW: a vector lies in the image or outside of it. IN_LOWEST is what
 * is below all elements as they are stored.
 */
#include "kernels/pool/body_gpu.kernel.h"

#if POOL_MEAN
#define START ((DTYPE)0)
#define IN_START 0
#define FOLD(acc, v) ((acc) + (v))
#else
#define START s_lowest
#define IN_START IN_LOWEST
#define FOLD(acc, v) MAX_NAN(v, acc)
#endif

#define STRIPS CEIL_DIV(OH, EACH)
#define STRIPS_X CEIL_DIV(OW, WIDE)
/* Of the first tap in the first vector, which begins FIRST columns behind x * SW. */
#define SHIFT (WIDE > 1 ? -PL - (FIRST) : 0)
#define ROWS ((EACH - 1) * SH + (KH - 1) * DH + 1) /* of the data under the windows */

/* Whether row `i` of these is one of window `e`. */
#define HOLDS(e, i) ((i) >= (e)*SH && (i) <= (e)*SH + (KH - 1) * DH && ((i) - (e)*SH) % DH == 0)

/* What a sum over `rows` counted rows is multiplied by: rounded once more than a division. */
INLINE DTYPE share_of(int rows, int columns)
{
    return rows * columns > 0 ? (DTYPE)1 / (DTYPE)(rows * columns) : (DTYPE)0;
}

#if WIDE > 1
VECTOR(vec_in, IN_T, WIDE);
VECTOR(vec_out, OUT_T, WIDE);
#endif

/* What each of WIDE windows beside each other holds of row `i`; `from` is where the first one's
 * begins, or the first vector's, both `left` columns into the image. */
INLINE void fold_row(GLOBAL const IN_T *RESTRICT from, int i, bool is_row, int left,
                     DTYPE row[WIDE])
{
#if WIDE > 1
    DTYPE line[VECTORS * WIDE];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        vec_in held; /* a guard around no more than the load, so that none waits */
        UNROLL
        for (int l = 0; l < WIDE; l++)
            held.v[l] = IN_START;
        if (is_row && left + v * WIDE >= 0 && left + v * WIDE < W)
            held = *(GLOBAL const vec_in *)(from + (INDEX)i * W + v * WIDE);
        UNROLL
        for (int l = 0; l < WIDE; l++)
            line[v * WIDE + l] = (DTYPE)IN_OF(held.v[l]);
    }
    UNROLL
    for (int l = 0; l < WIDE; l++) {
        row[l] = line[SHIFT + l * SW];
        UNROLL
        for (int j = 1; j < KW; j++)
            row[l] = FOLD(row[l], line[SHIFT + l * SW + j * DW]);
    }
#else
    row[0] = START;
    UNROLL_BY(UNROLL_X)
    for (int j = 0; j < KW; j++) {
        DTYPE v = START;
        if (is_row && inside(left + j * DW, W))
            v = (DTYPE)IN_OF(from[((INDEX)i * W + j * DW) * BLOCK]);
        row[0] = FOLD(row[0], v);
    }
#endif
}

KERNEL(THREADS, 1, 1)
pool(GLOBAL const IN_T *RESTRICT data, GLOBAL OUT_T *RESTRICT out)
{
    const INDEX item = (INDEX)BLOCK_X * THREADS + THREAD_X;
    const int c = (int)(item % BLOCK), x = (int)(item / BLOCK % STRIPS_X) * WIDE;
    const INDEX strip = item / BLOCK / STRIPS_X, plane = strip / STRIPS;
    const int y = (int)(strip % STRIPS) * EACH;
    const int top = y * SH - PT, left = x * SW - PL;
    if (plane >= PLANES)
        return;
    GLOBAL const IN_T *const from =
        data + (((i64)plane * H + top) * W + left - SHIFT) * BLOCK + c;
    DTYPE acc[EACH][WIDE];
    UNROLL
    for (int e = 0; e < EACH; e++) {
        UNROLL
        for (int l = 0; l < WIDE; l++)
            acc[e][l] = START;
    }
    UNROLL_BY(UNROLL_Y)
    for (int i = 0; i < ROWS; i++) {
        DTYPE row[WIDE];
        bool held = false; /* not between taps that are dilated */
        UNROLL
        for (int e = 0; e < EACH; e++)
            held = held || HOLDS(e, i);
        fold_row(from, i, held && inside(top + i, H), left - SHIFT, row);
        UNROLL
        for (int e = 0; e < EACH; e++) {
            if (HOLDS(e, i)) {
                UNROLL
                for (int l = 0; l < WIDE; l++)
                    acc[e][l] = FOLD(acc[e][l], row[l]);
            }
        }
    }
    GLOBAL OUT_T *const to = out + (((i64)plane * OH + y) * OW + x) * BLOCK + c;
#if POOL_MEAN
    DTYPE across[WIDE]; /* shares of windows that count all of their rows */
    UNROLL
    for (int l = 0; l < WIDE; l++)
        across[l] = counts_all(left + l * SW, KW, DW, W, PR)
                        ? share_of(KH, KW)
                        : share_of(KH, counted(left + l * SW, KW, DW, W, PR));
#endif
    UNROLL
    for (int e = 0; e < EACH; e++) {
        if (y + e < OH) {
#if POOL_MEAN
            const int at = top + e * SH;
            const DTYPE more = counts_all(at, KH, DH, H, PB)
                                   ? (DTYPE)1
                                   : share_of(counted(at, KH, DH, H, PB), 1) * (DTYPE)KH;
            UNROLL
            for (int l = 0; l < WIDE; l++)
                acc[e][l] *= across[l] * more;
#endif
#if WIDE > 1
            vec_out v;
            UNROLL
            for (int l = 0; l < WIDE; l++)
                v.v[l] = RESULT(acc[e][l]);
#if OW % WIDE == 0
            STORE_VECTOR((GLOBAL vec_out *)(to + (INDEX)e * OW), v);
#else
            UNROLL
            for (int l = 0; l < WIDE; l++)
                if (x + l < OW)
                    to[(INDEX)e * OW + l] = v.v[l];
#endif
#else
            to[(INDEX)e * (OW * BLOCK)] = RESULT(acc[e][0]);
#endif
        }
    }
}
