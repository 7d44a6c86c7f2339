/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain schedule of pooling: one window after the other, in any layout. What a target runs
 * that has no schedule of its own.
 */
#define STORED_TENSORS
#include "kernels/pool/compute.kernel.h"

/* arg: data, out, and what is known at run time */
void pool(void *const *arg)
{
    const stored *data = arg[0];
    stored *out = arg[1];
    PARALLEL_FOR
    for (i64 row = 0; row < (i64)PLANES * OH; row++) {
        const i64 oy = row % OH;
        const span y = rows_of(oy);
        const stored *plane = data + row / OH * ((i64)H * W * BLOCK);
        for (i64 ox = 0; ox < OW; ox++) {
            const span x = cols_of(ox);
            for (i64 c = 0; c < BLOCK; c++) {
                DTYPE acc = POOL_START;
                for (i64 i = y.first; i < y.last; i++)
                    for (i64 j = x.first; j < x.last; j++)
                        acc = fold1(
                            acc,
                            stored_value(
                                plane[((oy * SH - PT + i * DH) * W + ox * SW - PL + j * DW) *
                                          BLOCK +
                                      c]));
                if (POOL_MEAN)
                    acc *= share_of(counted_rows(oy), counted_cols(ox));
                out[(row * OW + ox) * BLOCK + c] = stored_of(acc);
            }
        }
    }
}
