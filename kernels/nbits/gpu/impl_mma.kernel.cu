/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits by tensor cores. The weight's words travel into shared memory as they are, STAGES
 * tiles of depth ahead, with the data's; on their way to a product a lane makes of them the few
 * 16-bit floats that it holds: an integer less its zero point is exact there. The scale is not: a
 * group's sums are kept apart and added, times their scale, in float32 when the group is over; the
 * first product of a group that ends in its tile adds to nothing. What blocks leave that share the
 * depth, `finish` adds up.
 *
 * A chunk of 16 bytes of the data, eight elements, meets 8 * BITS bits of a row of the weight;
 * thread t of a quad holds elements 2 t and 2 t + 1 of both.
 *
 * Macros beside the tile's, the copies', mma_out_gpu.kernel.h's and those of nbits_gpu.kernel.h:
 * ROW_COPY (bytes of a row of the weight that are copied at once), TOGETHER (rows of blocks that
 * are finished together). DEPTH is a multiple of GROUP, or GROUP of it, or there is one group.
 */
#include "kernels/matmul/gpu/mma_tile_gpu.kernel.h"
#include "kernels/nbits/gpu/levels_gpu.kernel.h"

#define ALL_ROWS ((INDEX)ROWS)
#define BLOCKS_N CEIL_DIV(N, BN)
#define TILES CEIL_DIV(K, DEPTH)
#define PART_TILES CEIL_DIV(TILES, SPLITS)

#include "kernels/matmul/gpu/mma_fill_gpu.kernel.h"
#include "kernels/matmul/gpu/mma_out_gpu.kernel.h"

#define SHORT (GROUP < DEPTH && GROUPS > 1) /* several groups in a tile */
#define TILE_GROUPS (SHORT ? DEPTH / GROUP : 1)
#define WORDS (DEPTH / PER)                      /* of a row in a tile */
#define PITCH (WORDS + (WORDS % 8 == 0 ? 4 : 0)) /* words; rows fall on different banks */
#define PARAMS (TILE_GROUPS * BN)                /* scales of a tile, and as many zero points */
#define PARAMS_EACH CEIL_DIV(PARAMS, THREADS)
#define PARAMS_AT (A_BYTES + BN * PITCH * 4)
#define TILE_BYTES (PARAMS_AT + PARAMS * 4 * (1 + ZERO))

VECTOR(some_words, u32, 2);

/* d = a b, without zeros that are put there first. */
#ifdef OT_OPENCL
#define FIRST_TILE(d, a, b)                                                                    \
    do {                                                                                       \
        UNROLL                                                                                 \
        for (int s = 0; s < MT * NT * 4; s++)                                                  \
            (d)[s / 4 / NT][s / 4 % NT][s % 4] = 0;                                            \
        MMA_TILE(MMA, MT, NT, d, a, b);                                                        \
    } while (0)
#else
#define FIRST_TILE(d, a, b) MMA_TILE(mma_first, MT, NT, d, a, b)
#if BRAIN
#define FIRST_TYPES "bf16.bf16"
#else
#define FIRST_TYPES "f16.f16"
#endif
INLINE void mma_first(float *d, const u32 *a, const u32 *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32." FIRST_TYPES ".f32"
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}
#endif

#define PIECES (WORDS * 4 / ROW_COPY) /* of a row in a tile; they divide the threads */

/* A thread's copies of the weight, tile after tile: where its next one begins. */
typedef struct word_copies {
    GLOBAL const u32 *from;
    i64 row;
    int word;
} word_copies;

INLINE word_copies word_copies_of(GLOBAL const u32 *weight, i64 row, int word)
{
    word_copies next;
    next.row = row + THREAD_X / PIECES;
    next.word = word + THREAD_X % PIECES * (ROW_COPY / 4);
    next.from = weight + next.row * ROW_WORDS + next.word;
    return next;
}

/* The words of the next tile's BN rows; beyond the depth they are zeros, rows beyond the end repeat
 * the last. */
INLINE void fill_words(word_copies *next, LOCAL byte *to)
{
    const int step = THREADS / PIECES, r0 = THREAD_X / PIECES;
    const int word = THREAD_X % PIECES * (ROW_COPY / 4);
    const int have = ROW_WORDS % WORDS == 0 || next->word < ROW_WORDS ? ROW_COPY : 0;
    UNROLL
    for (int i = 0; i < CEIL_DIV(BN, step); i++) {
        const int r = r0 + i * step;
        if (BN % step == 0 || r < BN) {
            const i64 down =
                N % BN == 0 ? (i64)(i * step) : MIN((i64)(i * step), N - 1 - next->row);
            GLOBAL const u32 *const line = next->from + down * ROW_WORDS;
#if ROW_COPY == 16
            cp_async_16_zero(to + (r * PITCH + word) * 4, line, have);
#elif ROW_COPY == 8
            cp_async_8_zero(to + (r * PITCH + word) * 4, line, have);
#else
            cp_async_4_zero(to + (r * PITCH + word) * 4, line, have);
#endif
        }
    }
    next->from += WORDS;
    next->word += WORDS;
}

/* Where a thread's parameter `i` of a tile is from; [group][row] in shared memory. */
#define PARAM(i) (THREAD_X + (i)*THREADS)
#define PARAM_IS(i) (PARAMS % THREADS == 0 || PARAM(i) < PARAMS)
#define GROUP_OF(t, g) MIN((GROUPS > 1 ? (t)*DEPTH / GROUP : 0) + (g), GROUPS - 1)
#define PARAM_FROM(i, t)                                                                       \
    (MIN(n0 + PARAM(i) % BN, (i64)N - 1) * GROUPS + GROUP_OF(t, PARAM(i) / BN))

/* As they lie in memory: what is made of them waits until they are there. */
#if ZERO
#define FETCH_ZERO(to, at) to = zero[at];
#define KEEP_ZERO(stage, from, at)                                                             \
    ((LOCAL float *)((stage) + PARAMS_AT))[at] = ZERO_OF_STORED(from);
#else
#define FETCH_ZERO(to, at)
#define KEEP_ZERO(stage, from, at)
#endif

#define FETCH_PARAMS(t)                                                                        \
    UNROLL for (int i = 0; i < PARAMS_EACH; i++)                                               \
    {                                                                                          \
        if (PARAM_IS(i)) {                                                                     \
            next_by[i] = scale[PARAM_FROM(i, t)];                                              \
            FETCH_ZERO(next_z[i], PARAM_FROM(i, t))                                            \
        }                                                                                      \
    }
#define KEEP_PARAMS(stage)                                                                     \
    UNROLL for (int i = 0; i < PARAMS_EACH; i++)                                               \
    {                                                                                          \
        if (PARAM_IS(i)) {                                                                     \
            ((LOCAL float *)((stage) + PARAMS_AT))[PARAM(i)] = SCALE_OF(next_by[i]);           \
            KEEP_ZERO(stage, next_z[i], PARAMS + PARAM(i))                                     \
        }                                                                                      \
    }
#define FILL(stage)                                                                            \
    {                                                                                          \
        fill_tile(&next_x, stage, 0, BM, A_CHUNKS, rows, K);                                   \
        fill_words(&next_words, (stage) + A_BYTES);                                            \
    }

/* What this lane needs of a stage for step `k`: the data's fragments and two integers of each of
 * its columns for either half, of 4 bits apart, of 8 side by side. */
INLINE void load_step(u32 (*a)[4], u32 (*w)[2], LOCAL const byte *stage, int at_a, int k)
{
    const int lane = THREAD_X % 32, t = lane % 4;
    LOCAL const u32 *const words = (LOCAL const u32 *)(stage + A_BYTES) +
                                   (THREAD_X / 32 % WARPS_N * WN + lane / 4) * PITCH;
    UNROLL
    for (int i = 0; i < MT; i++)
        ldmatrix_x4(a[i], stage + tile_fragment(0, A_CHUNKS, at_a, i, k));
    UNROLL
    for (int j = 0; j < NT; j++) {
#if BITS == 4
        const some_words both = *(LOCAL const some_words *)(words + j * 8 * PITCH + 2 * k);
        UNROLL
        for (int h = 0; h < 2; h++)
            w[j][h] = NIBBLES_APART(BYTE_OF(both.v[h], t));
#else
        UNROLL
        for (int h = 0; h < 2; h++)
            w[j][h] = words[j * 8 * PITCH + 4 * k + 2 * h + t / 2] >> 16 * (t % 2);
#endif
    }
}

/* Group `g` of the tile in `stage` is over. */
#define END_GROUP(stage, g)                                                                    \
    {                                                                                          \
        LOCAL const float *const by = (LOCAL const float *)((stage) + PARAMS_AT) + (g)*BN;     \
        UNROLL for (int j = 0; j < NT; j++)                                                    \
        {                                                                                      \
            SCALE_SUMS(j, by[TILE_COL(j)], by[TILE_COL(j) + 1])                                \
        }                                                                                      \
    }
#define SCALE_SUMS(j, first_by, second_by)                                                     \
    const float two_by[2] = {first_by, second_by};                                             \
    UNROLL for (int i = 0; i < MT; i++)                                                        \
    {                                                                                          \
        UNROLL for (int e = 0; e < 4; e++)                                                     \
        {                                                                                      \
            acc[i][j][e] = FMA(part[i][j][e], two_by[e % 2], acc[i][j][e]);                    \
            part[i][j][e] = 0;                                                                 \
        }                                                                                      \
    }

KERNEL(THREADS, 1, 1)
product(GLOBAL const ELEM *RESTRICT x, GLOBAL const u32 *RESTRICT weight,
        GLOBAL const SCALE_T *RESTRICT scale,
        ZERO_PARAMETER GLOBAL STORED *RESTRICT out PRODUCT_PARAMETERS(OUT))
{
    SHARED(pool, STAGES * TILE_BYTES);
    const INDEX rows = ALL_ROWS;
    const tile_start at = tile_start_of(BLOCK_X, (int)CEIL_DIV(rows, BM), BLOCKS_N, TOGETHER);
    const INDEX m0 = at.m, n0 = at.n;
    const bool idle = M_VARIES && (m0 >= rows || n0 >= N);
    const int first = BLOCK_Z * PART_TILES, tiles = idle ? 0 : MIN(PART_TILES, TILES - first);
    const int lane = THREAD_X % 32;
    const int at_a = tile_lane(0, A_CHUNKS, THREAD_X / 32 / WARPS_N * WM, lane, 1);
    const int own_row = THREAD_X / 32 % WARPS_N * WN + lane / 4; /* of the weight in the tile */
    float acc[MT][NT][4], part[MT][NT][4];
    tile_copies next_x = tile_copies_of(x, A_CHUNKS, m0, (INDEX)first * DEPTH, K);
    word_copies next_words = word_copies_of(weight, n0, first * WORDS);
    SCALE_T next_by[PARAMS_EACH];
#if ZERO
    ZERO_T next_z[PARAMS_EACH];
#endif
    UNROLL
    for (int s = 0; s < MT * NT * 4; s++)
        acc[s / 4 / NT][s / 4 % NT][s % 4] = part[s / 4 / NT][s / 4 % NT][s % 4] = 0;
    UNROLL
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < tiles) {
            FILL(pool + s * TILE_BYTES)
            FETCH_PARAMS(first + s)
            KEEP_PARAMS(pool + s * TILE_BYTES)
        }
        cp_async_commit();
    }
    int read = 0, write = STAGES - 1;
    UNROLL_BY(1)
    for (int t = 0; t < tiles; t++) {
        LOCAL byte *const stage = pool + read * TILE_BYTES, *const to =
                                                                pool + write * TILE_BYTES;
        const bool more = t + STAGES - 1 < tiles;
        u32 a[2][MT][4], w[2][NT][2];
        CP_ASYNC_WAIT(STAGES - 2);
        BARRIER();
        if (more) {
            FILL(to)
            FETCH_PARAMS(first + t + STAGES - 1)
        }
        cp_async_commit();
        load_step(a[0], w[0], stage, at_a, 0);
        UNROLL
        for (int k = 0; k < STEPS; k++) {
            u32 b[NT][2];
            if (k + 1 < STEPS)
                load_step(a[(k + 1) % 2], w[(k + 1) % 2], stage, at_a, k + 1);
            UNROLL
            for (int j = 0; j < NT; j++) {
#if ZERO
                const float z = ((LOCAL const float *)(stage + PARAMS_AT))
                    [PARAMS + (SHORT ? k * 16 / GROUP * BN : 0) + own_row + 8 * j];
#else
                const float z = ZERO_AT(0);
#endif
#if BITS == 4
                const zero_point less = LEVELS_ZERO(z);
                UNROLL
                for (int h = 0; h < 2; h++)
                    b[j][h] = LEVELS_PAIR(w[k % 2][j][h], 0, less);
#else
                UNROLL
                for (int h = 0; h < 2; h++) {
                    const u32 two = w[k % 2][j][h] ^ FLIP;
                    b[j][h] = PAIR(LEVEL(two, 0, z), LEVEL(two, 1, z));
                }
#endif
            }
            if (SHORT && k * 16 % GROUP == 0) {
                FIRST_TILE(part, a[k % 2], b);
            } else {
                MMA_TILE(MMA, MT, NT, part, a[k % 2], b);
            }
            if (SHORT && (k + 1) * 16 % GROUP == 0) {
                const int g = k * 16 / GROUP;
                if ((first + t) * TILE_GROUPS + g < GROUPS)
                    END_GROUP(stage, g)
            }
        }
        if (GROUPS > 1 && !SHORT && (first + t + 1) * DEPTH % GROUP == 0)
            END_GROUP(stage, 0)
        if (more)
            KEEP_PARAMS(to)
        write = read;
        read = read + 1 == STAGES ? 0 : read + 1;
    }
    /* A group that goes on in another block's part, or is cut off by the end of the depth. */
    if (tiles > 0 && (GROUPS == 1 || (!SHORT && (first + tiles) * DEPTH % GROUP != 0))) {
        const int g = GROUPS > 1 ? MIN(((first + tiles) * DEPTH - 1) / GROUP, GROUPS - 1) : 0;
        UNROLL
        for (int j = 0; j < NT; j++) {
            const i64 n = n0 + TILE_COL(j);
            SCALE_SUMS(j, SCALE_OF(scale[MIN(n, (i64)N - 1) * GROUPS + g]),
                       SCALE_OF(scale[MIN(n + 1, (i64)N - 1) * GROUPS + g]))
        }
    }
#if SPLITS > 1
    out += (i64)BLOCK_Z * M * N;
#endif
    STORE_SUMS(acc, out, 0, rows, m0, n0)
}
