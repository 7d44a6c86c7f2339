/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the sums of a product by tensor cores leave a block: bias and what is fused, then as many
 * bytes at once as rows allow; or, with SPLITS > 1, as they are, for the stage `finish`.
 *
 * Macros beside the tile's and those of kernels/matmul/gpu/mma_finish_gpu.kernel.h: PAIR (of 16
 * bits), INDEX.
 */
#ifndef OPTUNE_KERNELS_MATMUL_MMA_OUT_GPU_H
#define OPTUNE_KERNELS_MATMUL_MMA_OUT_GPU_H

#include "kernels/matmul/gpu/mma_finish_gpu.kernel.h"
#include "kernels/matmul/gpu/mma_run_gpu.kernel.h"

#define WIDE (N * STORED_BYTES % 16 == 0 && RUN_FITS)

/* v[RUN][2] of a row, from column n of the first product on. */
INLINE void store_run(GLOBAL STORED *RESTRICT out, INDEX rows, INDEX m, INDEX n, SUM (*v)[2])
{
#if WIDE
    run x;
    n += run_of(&x, v);
    if (m < rows && n < N)
        STORE_VECTOR((GLOBAL run *)(out + m * N + n), x);
#else
    UNROLL
    for (int r = 0; r < RUN; r++) {
        const INDEX at = n + r * 8 + THREAD_X % 4 * 2;
#if SPLITS > 1
        const pair both = {{v[r][0], v[r][1]}};
#else
        const pair both = {{ROUND(v[r][0]), ROUND(v[r][1])}};
#endif
        if (m < rows && at < N) {
            if (N % 2 == 0) {
                *(GLOBAL pair *)(out + m * N + at) = both;
            } else {
                out[m * N + at] = both.v[0];
                if (at + 1 < N)
                    out[m * N + at + 1] = both.v[1];
            }
        }
    }
#endif
}

#if BIAS
#define BIAS_AT(n) ((n) < N ? VALUE(bias[n]) : (SUM)0)
#else
#define BIAS_AT(n) ((SUM)0)
#endif

#if SPLITS > 1
#define SUMS_MORE(n) ((SUM)0)
#define SUMS_FUSED(v, inside, o)
#else
#define SUMS_MORE(n) BIAS_AT(n)
#define SUMS_FUSED(v, inside, o)                                                               \
    if (EPILOGUE && (inside))                                                                  \
    EPILOGUE_APPLY(v, o)
#endif

/* acc[MT][NT][4] of a block from (m0, n0) on, of `rows` rows, to `out`, where this batch begins,
 * element `start` of the output. All threads come together. */
#define STORE_SUMS(acc, out, start, rows, m0, n0)                                              \
    UNROLL for (int ot_j = 0; ot_j < NT; ot_j += RUN)                                          \
    {                                                                                          \
        SUM ot_more[RUN][2];                                                                   \
        UNROLL for (int ot_c = 0; ot_c < RUN * 2; ot_c++) ot_more[ot_c / 2][ot_c % 2] =        \
            SUMS_MORE((n0) + TILE_COL(ot_j + ot_c / 2) + ot_c % 2);                            \
        UNROLL for (int ot_r = 0; ot_r < MT * 2; ot_r++)                                       \
        {                                                                                      \
            const INDEX ot_m = (m0) + TILE_ROW(ot_r / 2) + ot_r % 2 * 8;                       \
            SUM ot_v[RUN][2];                                                                  \
            UNROLL for (int ot_c = 0; ot_c < RUN * 2; ot_c++)                                  \
            {                                                                                  \
                const INDEX ot_n = (n0) + TILE_COL(ot_j + ot_c / 2) + ot_c % 2;                \
                SUM ot_s = (acc)[ot_r / 2][ot_j + ot_c / 2][ot_r % 2 * 2 + ot_c % 2];          \
                if (BIAS_HERE)                                                                 \
                    ot_s += ot_more[ot_c / 2][ot_c % 2];                                       \
                SUMS_FUSED(ot_s, ot_m < (rows) && ot_n < N, (start) + ot_m * N + ot_n)         \
                ot_v[ot_c / 2][ot_c % 2] = ot_s;                                               \
            }                                                                                  \
            store_run(out, rows, ot_m, (n0) + TILE_COL(ot_j) - THREAD_X % 4 * 2, ot_v);        \
        }                                                                                      \
    }

#endif
