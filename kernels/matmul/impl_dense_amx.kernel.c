/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_amx.x86: products of 16-bit floats and of 8-bit integers by tiles, 16 rows of 64 bytes.
 * Macros from the plan: ROW_TASKS (of as many blocks of TILE_M tiles each), PARTS (tasks of as many
 * columns each, of the same rows), those of kernels/matmul/blocks.kernel.h.
 */
#include "kernels/matmul/blocks.kernel.h"

/* ---- packing ----------------------------------------------------------------------------- */

/* arg: weight [N][K], its panels */
void pack_weight(void *const *arg)
{
    const IN_T *weight = arg[0];
    u32 *packed = arg[1];
    PARALLEL_FOR
    for (i64 p = 0; p < PANELS; p++)
        dot_pack_panel(packed + p * PANEL_WORDS, weight + p * DOT_NR * K,
                       (int)MIN(DOT_NR, N - p * DOT_NR), KS * 16);
}

#if PACK_DATA
/* arg: data [M][K], its tiles */
void pack_data(void *const *arg)
{
    PARALLEL_FOR
    for (i64 i = 0; i < M; i++)
        pack_row(arg[1], i, (const IN_T *)arg[0] + i * K);
}
#endif

/* arg: data or its tiles, panels, out, bias if BIAS */
void amx(void *const *arg)
{
    const int granted = tiles_granted();
    PARALLEL_FOR
    for (i64 task = 0; task < ROW_TASKS * PARTS; task++) {
        const struct share share = {
            .data = arg[0],
            .packed = arg[1],
            .bias = BIAS ? arg[3] : 0,
            .t0 = task / PARTS * BLOCKS / ROW_TASKS,
            .t1 = (task / PARTS + 1) * BLOCKS / ROW_TASKS,
            .p0 = task % PARTS * PANELS / PARTS,
            .p1 = (task % PARTS + 1) * PANELS / PARTS,
        };
        compute(&share, arg, granted);
    }
}
