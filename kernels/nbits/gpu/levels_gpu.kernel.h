/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of a weight's integers as pairs of 16-bit floats, for products by tensor cores: integer p
 * of the lower half of a word and of the upper one, each less its zero point, which is exact. An
 * `and` and an `xor` in one instruction put them into the last places of a power of two.
 *
 * Macros beside those of nbits_gpu.kernel.h: BRAIN (bfloat16), PAIR. LEVELS_ZERO(z), a zero_point,
 * is what LEVELS_PAIR(word, p, .) takes of a float.
 */
#ifndef OPTUNE_KERNELS_NBITS_LEVELS_GPU_H
#define OPTUNE_KERNELS_NBITS_LEVELS_GPU_H

#include "kernels/common/pairs_gpu.kernel.h"
#include "kernels/nbits/gpu/nbits_gpu.kernel.h"

/* The powers of two, in pairs, whose last places integers are or-ed into; those of the other half
 * of a byte need no shift in float16, whose mantissa has room for them. */
#if BRAIN
#define MAGIC 0x43004300u /* 128 */
#else
#define MAGIC 0x64006400u /* 1024 */
#endif
#define BOTH(half) ((u32)(half) << 16 | (half))

/* Byte t of a word, whose two integers of 4 bits become the lower ones of either half. */
#ifdef OT_OPENCL
#define BYTE_OF(word, t) ((word) >> 8 * (t)&0xFFu)
#else
#define BYTE_OF(word, t) __byte_perm(word, 0, 0x4440 + (t))
#endif
#define NIBBLES_APART(byte) ((byte)*0x1001u)

#if BITS == 8 && BRAIN
/* Through float32: bfloat16's mantissa has 7 bits. */
#define LEVELS_ZERO(z) (z)
#define LEVELS_PAIR(word, p, z)                                                                \
    PAIR(LEVEL((word) ^ FLIP, p, z), LEVEL((word) ^ FLIP, (p) + HALF, z))
typedef float zero_point;
#elif BITS == 8
#define LEVELS_ZERO(z) PAIR(-1024 - (z), -1024 - (z))
#define LEVELS_PAIR(word, p, z)                                                                \
    halves_fma(and_xor((word) >> 8 * (p), 0xFF00FFu, MAGIC | (SIGNED ? 0x800080u : 0)),        \
               BOTH(0x3C00u), z)
typedef u32 zero_point;
#elif BRAIN
/* 128 and a zero point of 8 bits are no bfloat16, each by itself is. */
#define LEVELS_ZERO(z) (ZERO ? PAIR(-(z), -(z)) : 0)
#define LEVELS_OR(word, p) and_xor((word) >> 4 * (p), 0xF000Fu, MAGIC | (SIGNED ? 0x80008u : 0))
#if ZERO
#define LEVELS_PAIR(word, p, z)                                                                \
    bfloats_fma(bfloats_fma(LEVELS_OR(word, p), BOTH(0x3F80u), BOTH(0xC300u)), BOTH(0x3F80u), z)
#else
#define LEVELS_PAIR(word, p, z) bfloats_fma(LEVELS_OR(word, p), BOTH(0x3F80u), BOTH(0xC308u))
#endif
typedef u32 zero_point;
#else
#define LEVELS_ZERO(z) PAIR(-1024 - (z), -64 - (z))
#define LEVELS_OR(word, p, mask, sign)                                                         \
    and_xor((word) >> 8 * ((p) / 2), mask, MAGIC | (SIGNED ? (sign) : 0))
#define LEVELS_PAIR(word, p, z)                                                                \
    ((p) % 2 == 0 ? halves_fma(LEVELS_OR(word, p, 0xF000Fu, 0x80008u), BOTH(0x3C00u),          \
                               ((z)&0xFFFFu) | (z) << 16)                                      \
                  : halves_fma(LEVELS_OR(word, p, 0xF000F0u, 0x800080u), BOTH(0x2C00u),        \
                               ((z)&0xFFFF0000u) | (z) >> 16))
typedef u32 zero_point;
#endif

#endif
