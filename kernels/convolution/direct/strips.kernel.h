/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions on GPUs: a thread has a strip of EACH rows and WIDE columns of outputs,
 * sums of DTYPE, and meets each row of its input once.
 *
 * Macros: the shape, IN_T IN_OF, EACH WIDE, KEEPS: the weights in registers all along.
 */
#ifndef OPTUNE_KERNELS_CONVOLUTION_DIRECT_STRIPS_H
#define OPTUNE_KERNELS_CONVOLUTION_DIRECT_STRIPS_H

#include "kernels/convolution/direct/depthwise_gpu.kernel.h"

/* The row of the weight that input row `i` meets in output row `e`, where there is one. */
#define TAP(e, i) (((i) - (e)*SH) / DH)
#define MEETS(e, i) ((i) >= (e)*SH && ((i) - (e)*SH) % DH == 0 && TAP(e, i) < KH)
/* Of a strip, input rows and values of each. */
#define STRIP_ROWS ((EACH - 1) * SH + (KH - 1) * DH + 1)
#define STRIP_VALUES ((WIDE - 1) * SW + (KW - 1) * DW + 1)

#if KEEPS
#define STRIP_WEIGHTS(taps)                                                                    \
    DTYPE kept[TAPS];                                                                          \
    UNROLL                                                                                     \
    for (int k = 0; k < TAPS; k++)                                                             \
        kept[k] = (DTYPE)IN_OF((taps)[k]);
#define STRIP_WEIGHT(taps, k) kept[k]
#else
#define STRIP_WEIGHTS(taps)
#define STRIP_WEIGHT(taps, k) ((DTYPE)IN_OF((taps)[k]))
#endif

#define STRIP_CLEAR(acc)                                                                       \
    UNROLL                                                                                     \
    for (int e = 0; e < EACH; e++) {                                                           \
        UNROLL                                                                                 \
        for (int l = 0; l < WIDE; l++)                                                         \
            (acc)[e][l] = 0;                                                                   \
    }

/* Row `i`, a constant, of which row[0] meets the first tap of the first column. */
#define STRIP_ADD(acc, row, taps, i)                                                           \
    UNROLL                                                                                     \
    for (int e = 0; e < EACH; e++) {                                                           \
        if (MEETS(e, i)) {                                                                     \
            UNROLL                                                                             \
            for (int kx = 0; kx < KW; kx++) {                                                  \
                const DTYPE w = STRIP_WEIGHT(taps, TAP(e, i) * KW + kx);                       \
                UNROLL                                                                         \
                for (int l = 0; l < WIDE; l++)                                                 \
                    (acc)[e][l] = FMA((row)[l * SW + kx * DW], w, (acc)[e][l]);                \
            }                                                                                  \
        }                                                                                      \
    }

#endif
