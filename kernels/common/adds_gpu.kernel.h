/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums in memory that all blocks add to, in any order: GLOBAL_ADD(type, base, n, at, v) adds v (a
 * float for what 16 bits hold) to element `at` of the `n` at `base`, rounded to its type: f32 f64
 * i32 i64 f16 or bf16. An element of 16 bits that shares no word with another of these has the rest
 * of its word exchanged for the same bits, so that memory ends on whole words. CUDA's, from compute
 * capability 6.0 on; tests put an emulation in front of a body (tests/races/words.h).
 */
#ifndef OPTUNE_KERNELS_COMMON_ADDS_GPU_H
#define OPTUNE_KERNELS_COMMON_ADDS_GPU_H

#include "kernels/common/gpu.kernel.h"

#ifdef OT_CUDA

#define GLOBAL_ADD(type, base, n, at, v) GLOBAL_ADD_OF(type, base, n, at, v)
#define GLOBAL_ADD_OF(type, base, n, at, v) ot_add_##type(base, n, at, v)

INLINE void ot_add_f32(float *base, const i64 n, const i64 at, const float v)
{
    (void)n;
    atomicAdd(base + at, v);
}

INLINE void ot_add_f64(double *base, const i64 n, const i64 at, const double v)
{
    (void)n;
    atomicAdd(base + at, v);
}

INLINE void ot_add_i32(i32 *base, const i64 n, const i64 at, const i32 v)
{
    (void)n;
    atomicAdd(base + at, v);
}

INLINE void ot_add_i64(i64 *base, const i64 n, const i64 at, const i64 v)
{
    (void)n;
    atomicAdd((u64 *)(base + at), (u64)v);
}

/* One of 16 bits: its word is exchanged. */
#define OT_ADD_ALONE(name, of, to)                                                             \
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
OT_ADD_ALONE(ot_add_alone_f16, float_of_half, half_of_float)
OT_ADD_ALONE(ot_add_alone_bf16, float_of_bfloat, bfloat_of_float)

/* Memory adds two that share a word: a sum with -0 is the neighbour as it was. What is no element
 * of these is not summed, as it may be no number. */
#define OT_ADD_PAIR(name, alone, pair_type, to)                                                \
    INLINE void name(u16 *base, const i64 n, const i64 at, const float v)                      \
    {                                                                                          \
        u16 *const p = base + at;                                                              \
        const i64 beside = (u64)p & 2 ? at - 1 : at + 1;                                       \
        if (beside < 0 || beside >= n) {                                                       \
            alone(p, v);                                                                       \
            return;                                                                            \
        }                                                                                      \
        const u32 x = (u32)to(v);                                                              \
        const u32 pair = (u64)p & 2 ? x << 16 | 0x8000u : 0x80000000u | x;                     \
        void *const word = (void *)((u64)p & ~(u64)3);                                         \
        asm volatile("red.global.add.noftz." pair_type                                         \
                     " [%0], %1;" ::"l"(__cvta_generic_to_global(word)),                       \
                     "r"(pair)                                                                 \
                     : "memory");                                                              \
    }

OT_ADD_PAIR(ot_add_f16, ot_add_alone_f16, "f16x2", half_of_float)
#if OT_CC >= 90
OT_ADD_PAIR(ot_add_bf16, ot_add_alone_bf16, "bf16x2", bfloat_of_float)
#else
INLINE void ot_add_bf16(u16 *base, const i64 n, const i64 at, const float v)
{
    (void)n;
    ot_add_alone_bf16(base + at, v);
}
#endif

#endif

#endif
