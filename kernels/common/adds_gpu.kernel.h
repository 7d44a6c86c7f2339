/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums in memory that all blocks add to, in any order: GLOBAL_ADD(type, p, v) adds v, a float that
 * 16 bits hold for those types, to the element at `p`, rounded to its type: f32 f64 i32 i64 f16 or
 * bf16. CUDA's; tests put an emulation in front of a body (tests/races/words.h).
 */
#ifndef OPTUNE_KERNELS_COMMON_ADDS_GPU_H
#define OPTUNE_KERNELS_COMMON_ADDS_GPU_H

#include "kernels/common/gpu.kernel.h"

#ifdef OT_CUDA

#define GLOBAL_ADD(type, p, v) GLOBAL_ADD_OF(type, p, v)
#define GLOBAL_ADD_OF(type, p, v) ot_add_##type(p, v)

INLINE void ot_add_f32(float *p, const float v)
{
    atomicAdd(p, v);
}

INLINE void ot_add_f64(double *p, const double v)
{
    atomicAdd(p, v);
}

INLINE void ot_add_i32(i32 *p, const i32 v)
{
    atomicAdd(p, v);
}

INLINE void ot_add_i64(i64 *p, const i64 v)
{
    atomicAdd((u64 *)p, (u64)v);
}

/* Of 16-bit floats memory adds two that share a word: a sum with -0 is the neighbour as it was. */
#define OT_ADD_PAIR(name, pair_type, to)                                                       \
    INLINE void name(u16 *p, const float v)                                                    \
    {                                                                                          \
        const u32 x = (u32)to(v);                                                              \
        const u32 pair = (u64)p & 2 ? x << 16 | 0x8000u : 0x80000000u | x;                     \
        void *const word = (void *)((u64)p & ~(u64)3);                                         \
        asm volatile("red.global.add.noftz." pair_type                                         \
                     " [%0], %1;" ::"l"(__cvta_generic_to_global(word)),                       \
                     "r"(pair)                                                                 \
                     : "memory");                                                              \
    }

/* Where it does not, the word is exchanged. */
#define OT_ADD_HALF(name, of, to)                                                              \
    INLINE void name(u16 *p, const float v)                                                    \
    {                                                                                          \
        u32 *const word = (u32 *)((u64)p & ~(u64)3);                                           \
        const int by = (int)((u64)p & 2) * 8;                                                  \
        u32 old = *(volatile u32 *)word, seen;                                                 \
        do {                                                                                   \
            seen = old;                                                                        \
            const u32 sum = to(of((u16)(seen >> by)) + v);                                     \
            old = atomicCAS(word, seen, (seen & ~(0xFFFFu << by)) | sum << by);                \
        } while (old != seen);                                                                 \
    }

#if OT_CC >= 60
OT_ADD_PAIR(ot_add_f16, "f16x2", half_of_float)
#else
OT_ADD_HALF(ot_add_f16, float_of_half, half_of_float)
#endif
#if OT_CC >= 90
OT_ADD_PAIR(ot_add_bf16, "bf16x2", bfloat_of_float)
#else
OT_ADD_HALF(ot_add_bf16, float_of_bfloat, bfloat_of_float)
#endif

#endif

#endif
