/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows side by side, for products whose channels are no whole chunks of 16 bytes:
 *   laid [pixel of the output][group][CI_PAD], taps by channels, then anything
 * A module of its own where LAYS is 1, whose shape is the call's. Macros: that, TERMS CI_PAD INDEX
 * FLAT X_ZERO.
 */
#ifndef OPTUNE_KERNELS_QUANTIZED_GPU_LAY_GPU_H
#define OPTUNE_KERNELS_QUANTIZED_GPU_LAY_GPU_H

#include "kernels/quantized/gpu/round_gpu.kernel.h"

#define TRANSPOSED 0
#define WEIGHT_GRADIENT 0
#include "kernels/convolution/implicit/pixels_gpu.kernel.h"

#if LAYS
/* Bytes that are read at once, all of a tap. */
#if CI_G % 4 == 0
#define LAY_V 4
#define LAY_T u32
#elif CI_G % 2 == 0
#define LAY_V 2
#define LAY_T u16
#else
#define LAY_V 1
#define LAY_T unsigned char
#endif

/* A thread 16 bytes. */
KERNEL(FLAT, 1, 1)
lay(GLOBAL const unsigned char *RESTRICT data, GLOBAL unsigned char *RESTRICT laid)
{
    const INDEX e = (INDEX)BLOCK_X * FLAT + THREAD_X;
    const int chunk = (int)(e % (CI_PAD / 16)), group = (int)(e / (CI_PAD / 16) % GROUPS);
    const pixel p = pixel_of(e / (CI_PAD / 16) / GROUPS, PLANE_IN, 0);
    GLOBAL const unsigned char *const from = data + p.plane * CI + group * CI_G;
    words_4 w;
    if (!p.inside)
        return;
    UNROLL
    for (int i = 0; i < 4; i++) {
        w.v[i] = 0;
        UNROLL
        for (int b = 0; b < 4; b += LAY_V) {
            const int k = chunk * 16 + i * 4 + b, at = k < TERMS ? look(&p, k / CI_G) : -1;
            w.v[i] |= (u32)(at >= 0 ? *(GLOBAL const LAY_T *)(from + (INDEX)at * CI + k % CI_G)
                                    : (LAY_T)ZEROS)
                      << 8 * b;
        }
    }
    STORE_VECTOR((GLOBAL words_4 *)(laid + e * 16), w);
}
#endif

#endif
