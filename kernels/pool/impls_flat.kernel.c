/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Separable pooling of small planes of NCHW, stride 1: GROUP planes are copied into padded
 * ones, SPAN elements each, PITCH a row, and then treated as one long row: first all kernel
 * rows are folded, then all kernel columns, in place.
 *
 * The one idea: vectors never end with a row. What they compute across the ends of rows is
 * garbage that the copy into the output leaves behind; a plane of 17 x 17 costs 23 vectors
 * instead of 34 ragged ones.
 */
#define STORED_TENSORS
#include "kernels/pool/compute.kernel.h"

#define LENGTH ((i64)(GROUP - 1) * SPAN + (i64)(OH - 1) * PITCH + OW) /* of the result */
#define STEPS(n) (CEIL_DIV(n, STEP * VLEN) * STEP * VLEN)
#define ROWS MIN(H, OH + FAR_ROW - PT) /* of the data that windows meet */

/* arg: shares. What every position of the long row is multiplied by. */
void count_positions(void *const *arg)
{
    DTYPE *shares = arg[0];
    for (i64 i = 0; i < STEPS(LENGTH); i++) {
        const i64 y = i % SPAN / PITCH, x = i % SPAN % PITCH;
        shares[i] = y < OH && x < OW ? share_of(counted_rows(y), counted_cols(x)) : 0;
    }
}

INLINE void fold_rows(DTYPE *plane)
{
    for (i64 i = 0; i < STEPS(LENGTH + FAR_COL); i += STEP * VLEN) {
        vec acc[STEP];
        UNROLL(8)
        for (int u = 0; u < STEP; u++) {
            acc[u] = load(plane + i + u * VLEN);
            UNROLL(16)
            for (int k = 1; k < KH; k++)
                acc[u] = fold(acc[u], load(plane + i + u * VLEN + (i64)k * DH * PITCH));
        }
        UNROLL(8)
        for (int u = 0; u < STEP; u++)
            store(plane + WORK + i + u * VLEN, acc[u]);
    }
}

INLINE void fold_columns(DTYPE *row, const DTYPE *shares)
{
    for (i64 i = 0; i < STEPS(LENGTH); i += STEP * VLEN) {
        vec acc[STEP];
        UNROLL(8)
        for (int u = 0; u < STEP; u++) {
            acc[u] = load(row + i + u * VLEN);
            UNROLL(16)
            for (int k = 1; k < KW; k++)
                acc[u] = fold(acc[u], load(row + i + u * VLEN + k * DW));
            if (POOL_MEAN)
                acc[u] *= UNIFORM ? splat(share_of(KH, KW)) : load(shares + i + u * VLEN);
        }
        UNROLL(8)
        for (int u = 0; u < STEP; u++)
            store(row + i + u * VLEN, acc[u]);
    }
}

/* arg: data, out, planes of the threads, shares */
void pool(void *const *arg)
{
    const stored *data = arg[0];
    const DTYPE *shares = arg[3];
    stored *out = arg[1];
    PARALLEL_FOR
    for (i64 chunk = 0; chunk < CHUNKS; chunk++) {
        DTYPE *plane = (DTYPE *)arg[2] + THREAD * (2 * (i64)WORK);
        for (i64 i = 0; i < WORK; i++)
            plane[i] = POOL_START;
        const i64 end = (chunk + 1) * PLANES / CHUNKS;
        for (i64 p = chunk * PLANES / CHUNKS; p < end; p += GROUP) {
            const i64 n = MIN(GROUP, end - p);
            for (i64 g = 0; g < n; g++)
                for (i64 y = 0; y < ROWS; y++)
                    stored_read(plane + g * SPAN + (PT + y) * PITCH + PL,
                                data + ((p + g) * H + y) * W, MIN(W, PITCH - PL));
            fold_rows(plane);
            fold_columns(plane + WORK, shares);
            for (i64 g = 0; g < n; g++)
                for (i64 y = 0; y < OH; y++)
                    stored_write(out + ((p + g) * OH + y) * OW,
                                 plane + WORK + g * SPAN + y * PITCH, OW);
        }
    }
}
