/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A weight of 4- or 8-bit integers as GPU bodies read it: words of PER integers of one row, the
 * first in the lowest bits, all of one group. As on CPUs an integer is or-ed into the mantissa of
 * the power of two whose last places it has, and that power and the zero point are subtracted at
 * once: no conversion, which GPUs do at a quarter of the rate of sums.
 *
 * Macros: M (the most, where M_VARIES) N K, BITS, SIGNED, GROUP GROUPS, ZERO ZERO_REAL, X_T X_OF
 * X_TO (elements of data and output, what makes floats of them and what they are made with), XV
 * (of them at once), SCALE_T SCALE_OF ZERO_T ZERO_OF; SPLITS, where blocks share
 * the depth.
 */
#ifndef OPTUNE_KERNELS_NBITS_GPU_BODY_H
#define OPTUNE_KERNELS_NBITS_GPU_BODY_H

#define B 1
#define B_VARIES 0
#define BIAS 0
#ifndef SPLITS
#define SPLITS 1
#endif
#include "kernels/matmul/gpu/product_gpu.kernel.h"

#define PER (32 / BITS)
#define HALF (PER / 2)
#define MIDDLE (1 << (BITS - 1))
#define ROW_WORDS (K / PER)
#if SIGNED
#define FLIP (BITS == 8 ? 0x80808080u : 0x88888888u)
#else
#define FLIP 0u
#endif

#if ZERO
#define ZERO_PARAMETER GLOBAL const ZERO_T *RESTRICT zero,
#define ZERO_OF_STORED(z) ((float)ZERO_OF(z) + (SIGNED ? MIDDLE : 0))
#define ZERO_AT(at) ZERO_OF_STORED(zero[at])
#else
#define ZERO_PARAMETER
#define ZERO_AT(at) ((float)MIDDLE)
#endif

#ifdef OT_OPENCL
#define BITS_FLOAT(bits) as_float(bits)
#else
#define BITS_FLOAT(bits) __uint_as_float(bits)
#endif

#define PLACE(i) ((i) % HALF * BITS)
#define POWER(i) ((float)(1 << (23 - PLACE(i))))
#define POWER_BITS(i) ((u32)(150 - PLACE(i)) << 23)
#define LEVEL_BITS(word, i)                                                                    \
    ((((i) < HALF ? (word) : (word) >> 16) & (u32)((1 << BITS) - 1) << PLACE(i)) |             \
     POWER_BITS(i))

/* Integer i of an unsigned word less its zero point z. */
#if ZERO_REAL
#define LEVEL(word, i, z) (BITS_FLOAT(LEVEL_BITS(word, i)) - POWER(i) - (z))
#else
#define LEVEL(word, i, z) (BITS_FLOAT(LEVEL_BITS(word, i)) - (POWER(i) + (z)))
#endif

VECTOR(vec_x, X_T, XV);

#endif
