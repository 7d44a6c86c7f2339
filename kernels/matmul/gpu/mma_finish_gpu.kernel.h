/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a block of a product by tensor cores stores, and, with SPLITS > 1, the stage `finish`, which
 * adds up in order what the blocks left that share the depth, and what comes behind.
 *
 * Macros beside those of kernels/matmul/gpu/product_gpu.kernel.h: M N, SUM, OUT OUT_BYTES, ROUND,
 * VALUE (what makes a sum of an element), ALL_ROWS.
 */
#ifndef OPTUNE_KERNELS_MATMUL_MMA_FINISH_GPU_H
#define OPTUNE_KERNELS_MATMUL_MMA_FINISH_GPU_H

/* What a block stores: outputs, or sums of a part of the depth. */
#if SPLITS > 1
#define STORED SUM
#define STORED_BYTES 4
#else
#define STORED OUT
#define STORED_BYTES OUT_BYTES
#endif

#if SPLITS > 1
enum { FINISH_THREADS = 256 };

KERNEL(FINISH_THREADS, 1, 1)
finish(GLOBAL const SUM *RESTRICT partial, GLOBAL OUT *RESTRICT out OUTPUT_PARAMETERS(OUT))
{
    const i64 at = (i64)BLOCK_X * FINISH_THREADS + THREAD_X, plane = (i64)ALL_ROWS * N;
    if (at < BATCHES * plane) {
        const i64 batch = at / plane, within = at % plane;
        SUM sum = 0;
        UNROLL
        for (int s = 0; s < SPLITS; s++)
            sum += partial[(batch * SPLITS + s) * ((i64)M * N) + within];
#if BIAS
        sum += VALUE(bias[within % N]);
#endif
        EPILOGUE_APPLY(sum, at)
        out[at] = ROUND(sum);
    }
}
#endif

#endif
