/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that need what earlier ones found out, in one launch: CUDA's words. A block takes a turn,
 * and waits for blocks of earlier turns only: those have begun, so they come to an end whatever
 * else the device has to do. What a block tells the others is 64 bits that are read and written at
 * once: what has to arrive together lies in one of them, so that no order among them is needed.
 * Counter and words are zeros before the launch. OpenCL promises none of this; tests put an
 * emulation in front of a body (tests/races/words.h).
 */
#ifndef OPTUNE_KERNELS_COMMON_TURNS_GPU_H
#define OPTUNE_KERNELS_COMMON_TURNS_GPU_H

#include "kernels/common/gpu.kernel.h"

#ifdef OT_CUDA

/* An entry point of which this is true, for blocks of x threads, `blocks` of them on a core. */
#define KERNEL_IN_TURNS(x, blocks) KERNEL_RESIDENT(x, 1, 1, blocks)
/* The number of this call, from 0 on: one thread of a block asks. */
#define NEXT_TURN(counter) ((i64)atomicAdd((u32 *)(counter), 1u))

/* Before a thread that waits for a word asks for it again. */
#if OT_CC >= 70
#define PAUSE() __nanosleep(100)
#else
#define PAUSE() ((void)0)
#endif

#if OT_CC >= 70
#define OT_WORD_LOAD "ld.relaxed.gpu.global.u64 %0, [%1];"
#define OT_WORD_STORE "st.relaxed.gpu.global.u64 [%0], %1;"
#else
#define OT_WORD_LOAD "ld.volatile.global.u64 %0, [%1];"
#define OT_WORD_STORE "st.volatile.global.u64 [%0], %1;"
#endif

INLINE u64 WORD_LOAD(const u64 *from)
{
    u64 word;
    asm volatile(OT_WORD_LOAD : "=l"(word) : "l"(__cvta_generic_to_global(from)) : "memory");
    return word;
}

INLINE void WORD_STORE(u64 *to, u64 word)
{
    asm volatile(OT_WORD_STORE ::"l"(__cvta_generic_to_global(to)), "l"(word) : "memory");
}

#endif

#endif
