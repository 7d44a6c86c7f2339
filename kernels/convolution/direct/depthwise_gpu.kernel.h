/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU bodies of depthwise convolutions in NCHW share: where a plane of the output finds its
 * input and its weight, how pieces of rows come into shared memory with zeros around them, and how
 * a row's finished values leave, with what is fused behind them.
 *
 * Macros: the shape, SCALAR (of a finished value), OUT_T RESULT_BY.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_DIRECT_DEPTHWISE_GPU_H
#define OPTUNE_KERNELS_CONVOLUTION_DIRECT_DEPTHWISE_GPU_H

#include "kernels/common/epilogue_gpu.kernel.h"
#include "kernels/common/mma_gpu.kernel.h"

#define TAPS (KH * KW)

/* Of plane `plane` of all images' outputs. */
#define INPUT_PLANE(data, plane)                                                               \
    ((data) + ((i64)((plane) / CO) * CI + (plane) % CO / CO_G) * (H * W))
#define TAPS_OF(weight, plane) ((weight) + (i64)((plane) % CO) * TAPS)

/* `bytes` (8, 4 or an element) from `from`, or zeros, which reads nothing. They are there behind
 * STAGE_WAIT and a barrier; all that was asked for before is one group. */
#ifdef CP_ASYNC_WAIT
#define STAGE(bytes, to, from, inside)                                                         \
    do {                                                                                       \
        if ((bytes) == 8)                                                                      \
            cp_async_8_zero(to, from, (inside) ? 8 : 0);                                       \
        else if ((bytes) == 4)                                                                 \
            cp_async_4_zero(to, from, (inside) ? 4 : 0);                                       \
        else                                                                                   \
            *(to) = (inside) ? *(from) : 0;                                                    \
    } while (0)
#define STAGE_COMMIT() cp_async_commit()
#define STAGE_WAIT() CP_ASYNC_WAIT(0)
#else
#define STAGE(bytes, to, from, inside) (*(to) = (inside) ? *(from) : 0)
#define STAGE_COMMIT() ((void)0)
#define STAGE_WAIT() ((void)0)
#endif

#if EPILOGUE
#define FINISH(to, value, at)                                                                  \
    {                                                                                          \
        SCALAR ot_value = value;                                                               \
        EPILOGUE_APPLY(ot_value, (at))                                                         \
        to = EPILOGUE_WRITE(ot_value);                                                         \
    }
#else
#define FINISH(to, value, at) to = (OUT_T)(RESULT_BY(value));
#endif

/* values[n] of a row become outputs, the first one column x and element `at` of all: at once, as a
 * `type`, where rows are multiples of n. */
#define STORE_ROW(type, n, out, at, x, values)                                                 \
    do {                                                                                       \
        type ot_row;                                                                           \
        UNROLL                                                                                 \
        for (int ot_l = 0; ot_l < (n); ot_l++)                                                 \
            if (OW % (n) == 0 || (x) + ot_l < OW) {                                            \
                FINISH(ot_row.v[ot_l], (values)[ot_l], (at) + ot_l)                            \
                if (OW % (n))                                                                  \
                    (out)[(at) + ot_l] = ot_row.v[ot_l];                                       \
            }                                                                                  \
        if (OW % (n) == 0)                                                                     \
            STORE_VECTOR((GLOBAL type *)((out) + (at)), ot_row);                               \
    } while (0)

#endif
