/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sums of tensor cores become on their way out, for bodies of CUDA's own: two floats as
 * one word of 16-bit ones, and words exchanged among the four threads that hold a row; a * b + c of
 * both halves of such words, each rounded once; (a & b) ^ c at once, where compilers take two steps
 * when both are constants. Tests have these from tests/races/words.h.
 */
#ifndef OPTUNE_KERNELS_COMMON_PAIRS_GPU_H
#define OPTUNE_KERNELS_COMMON_PAIRS_GPU_H

#include "kernels/common/team.kernel.h"

#ifdef OT_CUDA
/* `a` in the lower half; from compute capability 8.0 on. */
INLINE u32 halves_of_floats(float a, float b)
{
    u32 to;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(to) : "f"(b), "f"(a));
    return to;
}

INLINE u32 bfloats_of_floats(float a, float b)
{
    u32 to;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(to) : "f"(b), "f"(a));
    return to;
}

INLINE u32 and_xor(u32 a, u32 b, u32 c)
{
    u32 to;
    asm("lop3.b32 %0, %1, %2, %3, 0x6A;" : "=r"(to) : "r"(a), "r"(b), "r"(c));
    return to;
}

INLINE u32 halves_fma(u32 a, u32 b, u32 c)
{
    u32 to;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(to) : "r"(a), "r"(b), "r"(c));
    return to;
}

INLINE u32 bfloats_fma(u32 a, u32 b, u32 c)
{
    u32 to;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(to) : "r"(a), "r"(b), "r"(c));
    return to;
}
#endif

VECTOR(quad_words, u32, 4);

#ifdef TEAM_SWAP
/* x[w] of thread t of a quad becomes what thread w has in x[t]. */
INLINE void quad_turn(u32 *x)
{
    UNROLL
    for (int reach = 1; reach < 4; reach *= 2) {
        UNROLL
        for (int i = 0; i < 4; i++)
            if ((i & reach) == 0) {
                const bool high = (THREAD_X & reach) != 0;
                u32 give = high ? x[i] : x[i + reach], got;
                TEAM_SWAP(got, give, reach);
                x[i] = high ? got : x[i];
                x[i + reach] = high ? x[i + reach] : got;
            }
    }
}
#endif

#endif
