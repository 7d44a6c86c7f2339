/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.kernel.c for GPUs: what is fused behind a call, as a stage of its own over the finished
 * output, in place. Macros: ELEMENTS of the output, THREADS of a block, EACH elements of a thread,
 * which lie a block apart so that neighbours read neighbouring words; what the harness defines is told in
 * kernels/common/epilogue.h. All loads of a thread are under way before its first store.
 */
#include "kernels/common/scalar_gpu.h"

#define PARAMETER(k, a, at, step) , GLOBAL const DTYPE *RESTRICT ot_a##k
#define READ(k, a, at, step) const DTYPE ot_e##k = ot_a##k[at];
#define ELEMENT(k) ot_e##k

KERNEL(THREADS, 1, 1)
epilogue_stage(GLOBAL DTYPE *RESTRICT out EPILOGUE_OPERANDS(PARAMETER, 0))
{
    const INDEX first = (INDEX)BLOCK_X * (THREADS * EACH) + (INDEX)THREAD_X;
    DTYPE x[EACH];
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const INDEX o = first + (INDEX)e * THREADS;
        x[e] = o < ELEMENTS ? out[o] : (DTYPE)0;
    }
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const INDEX o = first + (INDEX)e * THREADS;
        if (o < ELEMENTS) {
            EPILOGUE_OPERANDS(READ, o)
            EPILOGUE_CHAIN(x[e], ELEMENT)
            out[o] = x[e];
        }
    }
}
