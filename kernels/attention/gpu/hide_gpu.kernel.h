/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left out of scores that lie in a warp as tensor cores leave them: of every eight keys of
 * a tile of TK, a lane has those at lane % 4 * 2 and behind it, of some rows. Macros beside those
 * of attention_gpu.kernel.h: TK.
 *
 * Where VOTED all rows of a head have the same mask, which keeps keys or leaves them out: a warp
 * reads a tile's once, two keys a lane, and by votes each lane has a bit of every key of its own.
 */
#ifndef OPTUNE_KERNELS_ATTENTION_HIDE_GPU_H
#define OPTUNE_KERNELS_ATTENTION_HIDE_GPU_H

#include "kernels/attention/gpu/attention_gpu.kernel.h"
#include "kernels/common/warp_gpu.kernel.h"

#if MASKED && MASK_KEEPS && (MASK_Q == 0 || SQ == 1) && (MASK_H == 0 || GROUP == 1)
#define VOTED 1
#else
#define VOTED 0
#endif

#if MASKED
#define PAIRS (MASK_K == 1 && SKV % 2 == 0) /* keys' masks lie in aligned twos */
VECTOR(mask_pair, MASK_T, 2);

/* Those of keys `key`, an even one, and the next, of the row whose mask begins at `m`. */
INLINE mask_pair mask_of(GLOBAL const MASK_T *m, int key)
{
    mask_pair p;
#if PAIRS
    p = *(GLOBAL const mask_pair *)(m + MIN(key, SKV - 2));
#else
    p.v[0] = m[(i64)MIN(key, SKV - 1) * MASK_K];
    p.v[1] = m[(i64)MIN(key + 1, SKV - 1) * MASK_K];
#endif
    return p;
}
#endif

/* Products of keys `key`, an even one, and the next become scores, nothing where the row that sees
 * the first `sees` keys, whose mask begins at `row`, does not see one; but for what votes hide. */
INLINE void hide_pair(float *two, i64 row, int key, int sees MASK_PARAMETER)
{
#if MASKED && !VOTED
    const mask_pair m = mask_of(mask + row, key);
#endif
    UNROLL
    for (int e = 0; e < 2; e++) {
        float x = EARLY(two[e]);
#if MASKED && !VOTED
        x = masked_score(x, m.v[e]);
#endif
        two[e] = key + e < sees ? x : NOTHING;
    }
}

#if VOTED
#define VOTES CEIL_DIV(TK, 64)
#if PAIRS
typedef int voted_mask; /* two in a word, which compilers would take apart where it is loaded */
#define VOTED_MASK(two, e) ((two) >> (e)*8 & 0xFF)
#else
typedef mask_pair voted_mask;
#define VOTED_MASK(two, e) ((two).v[e])
#endif

/* The tile from key `key` on, of a head whose mask begins at `m`; some of it may lie behind the
 * last key, where masks are the last ones'. */
INLINE void masks_fetch(voted_mask *masks, GLOBAL const MASK_T *m, int key)
{
    UNROLL
    for (int i = 0; i < VOTES; i++) {
        const int first = key + i * 64 + THREAD_X % 32 * 2;
#if PAIRS
        masks[i] = *(GLOBAL const u16 *)(m + MIN(first, SKV - 2));
#else
        masks[i] = mask_of(m, first);
#endif
    }
}

/* What `masks` hides of the tile's scores: SCORES(two, e, row) is key lane % 4 * 2 + e of eight
 * keys `two`, of row `row` out of `rows`. All of a warp. */
#define HIDE_VOTED(masks, rows, SCORES)                                                        \
    UNROLL                                                                                     \
    for (int ot_vote = 0; ot_vote < VOTES * 2; ot_vote++) {                                    \
        const int ot_e = ot_vote % 2;                                                          \
        u32 ot_seen;                                                                           \
        if (PAIRS && ot_e == 0)                                                                \
            OPAQUE_WORD((masks)[ot_vote / 2]);                                                 \
        ot_seen = WARP_VOTE(VOTED_MASK((masks)[ot_vote / 2], ot_e) != 0) >> THREAD_X % 4;      \
        UNROLL                                                                                 \
        for (int ot_at = 0; ot_at < MIN(8, TK / 8); ot_at++) {                                 \
            const bool ot_kept = (ot_seen >> ot_at * 4 & 1) != 0;                              \
            UNROLL                                                                             \
            for (int ot_row = 0; ot_row < (rows); ot_row++) {                                  \
                const int ot_two = ot_vote / 2 * 8 + ot_at;                                    \
                if (!ot_kept)                                                                  \
                    SCORES(ot_two, ot_e, ot_row) = NOTHING;                                    \
            }                                                                                  \
        }                                                                                      \
    }
#if PAIRS
#define OPAQUE_WORD(x) OPAQUE_INT(x)
#else
#define OPAQUE_WORD(x) ((void)0)
#endif
#else
#define HIDE_VOTED(masks, rows, SCORES)
#endif

#endif
