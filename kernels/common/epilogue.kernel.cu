/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.kernel.c for GPUs: what is fused behind a call, as a stage of its own over the
 * finished output, in place. Macros: ELEMENTS of the output, THREADS of a block, EACH elements
 * of a thread, which lie a block apart so that neighbours read neighbouring words; what the
 * harness defines is told in kernels/common/epilogue_gpu.kernel.h. All loads of a thread are
 * under way before its first store.
 */
#include "kernels/common/epilogue_gpu.kernel.h"

KERNEL(THREADS, 1, 1)
epilogue_stage(GLOBAL EPILOGUE_T *RESTRICT out EPILOGUE_PARAMETERS)
{
    const INDEX first = (INDEX)BLOCK_X * (THREADS * EACH) + (INDEX)THREAD_X;
    DTYPE x[EACH];
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const INDEX o = first + (INDEX)e * THREADS;
        x[e] = o < ELEMENTS ? EPILOGUE_READ(out[o]) : (DTYPE)0;
    }
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const INDEX o = first + (INDEX)e * THREADS;
        if (o < ELEMENTS) {
            EPILOGUE_APPLY(x[e], o)
            out[o] = EPILOGUE_WRITE(x[e]);
        }
    }
}
