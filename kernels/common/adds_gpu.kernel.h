/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums in memory that all blocks add to, in any order: GLOBAL_ADD(type, p, v) adds v, a float of
 * 16-bit ones, to the element at `p`, rounded to its type: f32 f64 i32 i64 f16 or bf16. CUDA's;
 * tests put an emulation in front of a body (tests/races/words.h).
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

/* 16 bits of the word that they lie in. */
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
OT_ADD_HALF(ot_add_f16, float_of_half, half_of_float)
OT_ADD_HALF(ot_add_bf16, float_of_bfloat, bfloat_of_float)

#endif

#endif
