/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans in one pass, by decoupled look-back: a block scans a tile of a line (of neighbouring lines,
 * on a strided axis), tells what the tile amounts to, goes back over what was told of earlier ones
 * until it finds what knows all up to its end, and tells the same of its own. Input is read once.
 * Tiles come in turns, the first ones of all lines before the second ones.
 *
 * What was found is combined from the far end on, as it would have been had every block waited for
 * the one before: results do not depend on how far a block had to look. Nor on whether it was told
 * in time: a block that has asked PATIENCE times scans all that is before its tile by itself, in
 * the same order. Whatever becomes of other blocks, every block comes to an end.
 *
 * Macros beside those of kernels/scan/body.kernel.h: TILES of a line, TOLD (how much is told of
 * it), PATIENCE, DTYPE_WORDS (of 32 bits), LEAD_PARAMETERS (dims in front of the axis that are
 * known at run time, each behind a comma); of a contiguous axis STAGED (bytes at the end of shared
 * memory for elements, or 0).
 */
#ifndef OPTUNE_KERNELS_SCAN_LOOKBACK_H
#define OPTUNE_KERNELS_SCAN_LOOKBACK_H

#include "kernels/common/turns_gpu.kernel.h"
#include "kernels/common/warp_gpu.kernel.h"
#include "kernels/scan/body_gpu.kernel.h"

/* What is known of a tile: nothing, its own amount, that of everything up to its end. */
enum { UNTOLD, OWN, WHOLE };

#if TILES > 1

typedef union amount {
    DTYPE x;
    u32 word[DTYPE_WORDS];
} amount;

/* In front of what tiles tell: the counter of turns. */
enum { HEAD = 8 };

/* At the head of shared memory: the turn, and threads that were not told in time. */
typedef struct notes {
    i64 turn;
    i32 untold, space;
} notes;

/* Tile `tile` of line `outer`, `inner`. Neighbouring lines are side by side. */
INLINE GLOBAL u64 *told_of(GLOBAL u64 *told, i64 outer, i64 tile, i64 inner)
{
    return told + HEAD + (outer * TOLD + tile) * (DTYPE_WORDS * INNER) + inner;
}

/* Each word says what it is a part of, so they may arrive in any order. */
INLINE void tell(GLOBAL u64 *to, int kind, DTYPE x)
{
    amount a;
    a.x = x;
    UNROLL
    for (int w = 0; w < DTYPE_WORDS; w++)
        WORD_STORE(to + w * INNER, (u64)kind << 32 | a.word[w]);
}

INLINE int ask(GLOBAL const u64 *from, DTYPE *x)
{
    u64 word[DTYPE_WORDS];
    amount a;
    UNROLL
    for (int w = 0; w < DTYPE_WORDS; w++)
        word[w] = WORD_LOAD(from + w * INNER);
    int kind = (int)(word[0] >> 32);
    UNROLL
    for (int w = 0; w < DTYPE_WORDS; w++) {
        if ((int)(word[w] >> 32) != kind)
            kind = UNTOLD;
        a.word[w] = (u32)word[w];
    }
    *x = a.x;
    return kind;
}

KERNEL(THREADS, 1, 1)
begin(GLOBAL u64 *RESTRICT told, i64 words)
{
    const i64 i = (i64)BLOCK_X * THREADS + THREAD_X;
    if (i < words)
        told[i] = 0;
}

#endif

#endif
