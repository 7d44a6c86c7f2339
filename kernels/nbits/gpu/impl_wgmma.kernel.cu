/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits_wgmma.cuda: the pipeline of kernels/matmul/gpu/wgmma_tile_gpu.kernel.h over a weight
 * of 4- or 8-bit integers. The copy engine brings the data; the warpgroup beside it reads integers
 * a step ahead of their use and writes what they mean into the ring: an integer less its zero
 * point, which is exact, times its scale, rounded to bfloat16 once.
 *
 * Two threads share a row of a tile, 32 elements each, which have one scale. Words come a step
 * ahead of their use from the cache that all share, which is asked for them some steps earlier.
 *
 * Macros beside the tile's and those of levels_gpu.kernel.h: SCALE_BRAIN (scales are bfloat16).
 */
#include "kernels/nbits/gpu/levels_gpu.kernel.h"

#define CHUNK 32
#define CHUNK_WORDS (CHUNK / PER)
#define WRITER (THREAD_X - 128 * CONSUMERS)
#define Y_ROW(i) ((i)*64 + WRITER / 2)
#define Y_EACH (BN / 64) /* rows of a pair of threads */

#if ZERO
#define Y_PARAMETERS                                                                           \
    GLOBAL const u32 *RESTRICT weight, GLOBAL const SCALE_T *RESTRICT scale,                   \
        GLOBAL const ZERO_T *RESTRICT zero
#define HELD_ZERO ZERO_T held_zero[Y_EACH];
#define FETCH_ZERO(i, at) held_zero[i] = zero[at];
#define ZERO_HELD(i) ZERO_OF_STORED(held_zero[i])
#else
#define Y_PARAMETERS GLOBAL const u32 *RESTRICT weight, GLOBAL const SCALE_T *RESTRICT scale
#define HELD_ZERO
#define FETCH_ZERO(i, at)
#define ZERO_HELD(i) ZERO_AT(0)
#endif

/* What a thread holds of the next step: words of its rows, their scales and zero points. */
#define Y_HELD                                                                                 \
    u32 held[Y_EACH][CHUNK_WORDS];                                                             \
    SCALE_T held_scale[Y_EACH];                                                                \
    HELD_ZERO

/* Memory takes longer than a step: what a thread will want is asked for so many steps ahead, at a
 * tile's begin for those before, too. */
#define AHEAD 8
#define ASK(line, group, k, step)                                                              \
    UNROLL_BY(1) for (int ot_s = (step) == 0 ? 1 : AHEAD; ot_s <= AHEAD; ot_s++)               \
    {                                                                                          \
        if ((k) + ot_s * DEPTH < K && (BITS == 8 || WRITER % 2 == 0))                          \
            prefetch((line) + ot_s * DEPTH / PER);                                             \
        if ((k) + ot_s * DEPTH < K && GROUPS > 1 && WRITER % 2 == 1)                           \
            prefetch(scale + (group) + ot_s * DEPTH / GROUP);                                  \
    }
/* Beyond the depth scales are zeros, and so is the weight. */
#define FETCH_ROW(i, q, step)                                                                  \
    {                                                                                          \
        const int ot_k = (step)*DEPTH + WRITER % 2 * CHUNK, ot_from = ot_k < K ? ot_k : 0;     \
        const i64 ot_row = MIN((q).n + Y_ROW(i), N - 1);                                       \
        const i64 ot_group = ot_row * GROUPS + (GROUPS > 1 ? ot_from / GROUP : 0);             \
        GLOBAL const u32 *const ot_line = weight + ot_row * ROW_WORDS + ot_from / PER;         \
        ASK(ot_line, ot_group, ot_k, step)                                                     \
        UNROLL for (int ot_w = 0; ot_w < CHUNK_WORDS; ot_w += 4)                               \
        {                                                                                      \
            const quad_words ot_four = *(GLOBAL const quad_words *)(ot_line + ot_w);           \
            UNROLL for (int ot_j = 0; ot_j < 4; ot_j++) held[i][ot_w + ot_j] =                 \
                ot_four.v[ot_j];                                                               \
        }                                                                                      \
        held_scale[i] = scale[ot_group];                                                       \
        FETCH_ZERO(i, ot_group)                                                                \
        if (ot_k >= K)                                                                         \
            held_scale[i] = 0;                                                                 \
    }

/* Elements 2 `e` and 2 `e` + 1 of a word. */
#if BITS == 4 && SCALE_BRAIN
#define WEIGHT_PAIR(word, e)                                                                   \
    bfloats_fma(LEVELS_PAIR(NIBBLES_APART(BYTE_OF(word, e)), 0, ot_less), ot_scale,            \
                BOTH(0x8000u))
#define ROW_PARAMETERS(i)                                                                      \
    const zero_point ot_less = LEVELS_ZERO(ZERO_HELD(i));                                      \
    const u32 ot_scale = BOTH((u32)held_scale[i]);                                             \
    (void)ot_less;
#else
#define WEIGHT_PAIR(word, e)                                                                   \
    PAIR(LEVEL((word) ^ FLIP, 2 * (e), ot_less) * ot_scale,                                    \
         LEVEL((word) ^ FLIP, 2 * (e) + 1, ot_less) * ot_scale)
#define ROW_PARAMETERS(i)                                                                      \
    const float ot_less = ZERO_HELD(i), ot_scale = SCALE_OF(held_scale[i]);
#endif

/* Pair `e` of eight elements side by side, as which products read them. */
#if BITS == 4
#define EIGHT_PAIR(i, c, e) WEIGHT_PAIR(held[i][c], e)
#else
#define EIGHT_PAIR(i, c, e) WEIGHT_PAIR(held[i][2 * (c) + (e) / 2], (e) % 2)
#endif

#define WRITE_ROW(i, to)                                                                       \
    {                                                                                          \
        const u32 ot_line = (to) + (u32)(Y_ROW(i) * 128), ot_turn = (u32)(Y_ROW(i) % 8 * 16);  \
        ROW_PARAMETERS(i)                                                                      \
        UNROLL for (int ot_c = 0; ot_c < CHUNK / 8; ot_c++)                                    \
            shared_write_16(                                                                   \
                ot_line + ((u32)((WRITER % 2 * (CHUNK / 8) + ot_c) * 16) ^ ot_turn),           \
                EIGHT_PAIR(i, ot_c, 0), EIGHT_PAIR(i, ot_c, 1), EIGHT_PAIR(i, ot_c, 2),        \
                EIGHT_PAIR(i, ot_c, 3));                                                       \
    }

#define FETCH_Y(q, step)                                                                       \
    UNROLL for (int ot_i = 0; ot_i < Y_EACH; ot_i++)                                           \
        FETCH_ROW(ot_i, q, step)
#define WRITE_Y(to, q, next)                                                                   \
    UNROLL for (int ot_i = 0; ot_i < Y_EACH; ot_i++)                                           \
    {                                                                                          \
        WRITE_ROW(ot_i, to)                                                                    \
        FETCH_ROW(ot_i, q, next)                                                               \
    }

#define COPY_X(to, p, panel, barrier) copy_box_3d(to, x, (panel)*PANEL, (p).m, 0, barrier)
#define LINE N
#define OUT_AT(b, m, n) ((INDEX)(m)*N + (n))
#define STORE_BOX(b, m, n, from) store_box_3d(out, n, m, 0, from)
#include "kernels/matmul/gpu/wgmma_tile_gpu.kernel.h"
