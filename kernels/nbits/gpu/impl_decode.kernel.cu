/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits of a few rows by tensor cores, as fast as the weight is read. The weight is the left
 * side of the products: a warp has NT times 16 of its rows, the data's rows are columns, eight a
 * product. Each warp copies what it reads into a ring of its own, 16 bytes at a time, STAGES tiles
 * of depth ahead, and waits for no other; the data of the block's part of the depth is staged once.
 *
 * Sums do not care in which order depth comes. Of four words of a row each thread of a quad takes
 * one, whose integers become pairs of 16-bit floats by an `and` and an `or`: those whose places
 * differ by half a word are a pair. The data is staged in the order of these pairs. An integer less
 * its zero point is exact; a group's sums are kept apart and added, times its scale, in float32.
 *
 * A block has WARPS_N warps side by side along rows of the weight, WARPS_K of these share its depth
 * in turns of a tile, and SPLITS blocks share all of it, whose sums `finish` adds.
 *
 * Macros beside those of nbits_gpu.kernel.h and mma_finish_gpu.kernel.h: NT MT (tiles of a warp),
 * WARPS_N WARPS_K, DEPTH (of a tile; a multiple of GROUP, or GROUP of it, or there is one group),
 * STAGES, ROW_COPY (bytes of a row that are copied at once), SCALE_V (scales of a row loaded at
 * once), SCALE_BYTES, BRAIN (bfloat16), MMA PAIR, POOL_BYTES. GROUP is a multiple of four words.
 */
#include "kernels/common/mma_gpu.kernel.h"
#include "kernels/common/pairs_gpu.kernel.h"
#include "kernels/common/warp_gpu.kernel.h"
#include "kernels/nbits/gpu/nbits_gpu.kernel.h"

#define ALL_ROWS ((i64)ROWS)
#include "kernels/matmul/gpu/mma_finish_gpu.kernel.h"

#define THREADS (32 * WARPS_N * WARPS_K)
#define OWN (16 * NT)       /* rows of the weight that a warp has */
#define BN (OWN * WARPS_N)  /* and a block */
#define WORDS (DEPTH / PER) /* of a row in a tile */
#define PITCH (WORDS + 4)   /* words; the rows of a fragment fall on different banks */
#define TILE (OWN * PITCH)  /* words of a stage */
#define TILES CEIL_DIV(K, DEPTH)
#define PART_TILES CEIL_DIV(TILES, SPLITS)
#define PART_K (PART_TILES * DEPTH)
#define X_PITCH (PART_K + 4 * PER)
#define UNITS (WORDS / 4) /* four words of a row, one for each thread of a quad */
#define DEEP (PER / 4)    /* products of a unit */
#define SHORT (GROUP < DEPTH && GROUPS > 1) /* several groups in a tile */
#define TILE_GROUPS (SHORT ? DEPTH / GROUP : 1)
#define SUM_PITCH (BN + 4)

/* Rows beyond the last one have its scales. */
#define ROW_INSIDE(n) (N % BN == 0 ? (i64)(n) : MIN((i64)(n), (i64)N - 1))
#define GROUP_OF(t, g)                                                                         \
    (SHORT && GROUPS % TILE_GROUPS == 0 && (i64)GROUP * GROUPS == (i64)DEPTH * TILES           \
         ? (t)*TILE_GROUPS + (g)                                                               \
         : MIN((GROUPS > 1 ? (t)*DEPTH / GROUP : 0) + (g), GROUPS - 1))

/* Parameters of a row's groups in a tile, as they lie in memory: BYTES each, in words, SCALE_V
 * loaded at once; where these make no whole words each has a word. */
#define RAW_PER(bytes) (SCALE_V * (bytes) % 4 == 0 ? 4 / (bytes) : 1) /* in a word */
#define RAW_WORDS(bytes) (TILE_GROUPS / RAW_PER(bytes))
#define RAW_BITS(raw, g, bytes)                                                                \
    ((raw)[(g) / RAW_PER(bytes)] >> (g) % RAW_PER(bytes) * (8 * (bytes)))
#define RAW_FETCH(to, from, bytes, vec)                                                        \
    if (SCALE_V * (bytes) % 4 == 0) {                                                          \
        const vec some = *(GLOBAL const vec *)(from);                                          \
        UNROLL for (int w = 0; w < SCALE_V * (bytes) / 4; w++)(to)[w] = some.v[w];             \
    } else {                                                                                   \
        UNROLL for (int e = 0; e < SCALE_V; e++)(to)[e] = (from)[e];                           \
    }

VECTOR(vec_words, u32, PER / 2);
VECTOR(vec_scale, u32, MAX(SCALE_V *SCALE_BYTES / 4, 1));
#if ZERO
VECTOR(vec_zero, u32, MAX(SCALE_V / 4, 1));
#define ZERO_ARGUMENT zero,
#else
#define ZERO_ARGUMENT
#endif

/* Of a tile's groups, for each of the 2 NT rows of the weight that a lane has. */
typedef struct params {
    u32 by[2 * NT][RAW_WORDS(SCALE_BYTES)];
#if ZERO
    u32 z[2 * NT][RAW_WORDS(1)];
#endif
} params;

#define LANE_ROW(h) ((h)*8 + THREAD_X % 32 / 4)

/* The warp's words of tile `t`: a lane copies PIECES of a row in turns of 32, of which the first
 * begins at `mine` in tile 0. There are `rows` of them; others, and what is beyond the depth, are
 * zeros. */
#define PIECES (WORDS * 4 / ROW_COPY) /* a power of two up to 32 */
#define LANE_PIECE_ROW (THREAD_X % 32 / PIECES)
#define LANE_PIECE_WORD (THREAD_X % PIECES * (ROW_COPY / 4))
INLINE void fill_words(LOCAL u32 *to, GLOBAL const u32 *RESTRICT weight,
                       GLOBAL const u32 *RESTRICT mine, int rows, int t)
{
    GLOBAL const u32 *const from = mine + (i64)t * WORDS;
    UNROLL
    for (int r = 0; r < OWN; r += 32 / PIECES) {
        const bool inside =
            (N % BN == 0 || LANE_PIECE_ROW + r < rows) &&
            (TILES * WORDS == ROW_WORDS || t * WORDS + LANE_PIECE_WORD < ROW_WORDS);
        const int have = inside ? ROW_COPY : 0;
        GLOBAL const u32 *const line = inside ? from + r * ROW_WORDS : weight;
        LOCAL u32 *const place = to + (LANE_PIECE_ROW + r) * PITCH + LANE_PIECE_WORD;
#if ROW_COPY == 16
        cp_async_16_zero(place, line, have);
#elif ROW_COPY == 8
        cp_async_8_zero(place, line, have);
#else
        cp_async_4_zero(place, line, have);
#endif
    }
}

INLINE void fetch_params(params *to, GLOBAL const SCALE_T *RESTRICT scale,
                         ZERO_PARAMETER int n0, int t)
{
    UNROLL
    for (int h = 0; h < 2 * NT; h++) {
        UNROLL
        for (int v = 0; v < TILE_GROUPS; v += SCALE_V) {
            const i64 at = ROW_INSIDE(n0 + LANE_ROW(h)) * GROUPS + GROUP_OF(t, v);
            RAW_FETCH(to->by[h] + v / RAW_PER(SCALE_BYTES), scale + at, SCALE_BYTES, vec_scale)
#if ZERO
            RAW_FETCH(to->z[h] + v / RAW_PER(1), zero + at, 1, vec_zero)
#endif
        }
    }
}

#if SCALE_BYTES == 4
#define SCALE_FLOAT(bits) BITS_FLOAT(bits)
#else
#define SCALE_FLOAT(bits) SCALE_OF((u16)(bits))
#endif

/* The powers of two, in pairs, whose last places integers are or-ed into; those of the other half
 * of a byte need no shift in float16, whose mantissa has room for them. */
#if BRAIN
#define MAGIC 0x43004300u /* 128 */
#else
#define MAGIC 0x64006400u /* 1024 */
#endif
#define BOTH(half) ((u32)(half) << 16 | (half))

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

/* The sums of group g of a tile are over. */
INLINE void end_group(float acc[NT][MT][4], float part[NT][MT][4], const params *now, int g)
{
    UNROLL
    for (int h = 0; h < 2 * NT; h++) {
        const float by = SCALE_FLOAT(RAW_BITS(now->by[h], g, SCALE_BYTES));
        UNROLL
        for (int s = 0; s < MT * 2; s++) {
            const int j = s / 2, e = h % 2 * 2 + s % 2;
            acc[h / 2][j][e] = FMA(part[h / 2][j][e], by, acc[h / 2][j][e]);
            part[h / 2][j][e] = 0;
        }
    }
}

KERNEL(THREADS, 1, 1)
product(GLOBAL const X_T *RESTRICT x, GLOBAL const u32 *RESTRICT weight,
        GLOBAL const SCALE_T *RESTRICT scale,
        ZERO_PARAMETER GLOBAL STORED *RESTRICT out PRODUCT_PARAMETERS(OUT))
{
    SHARED(pool, POOL_BYTES);
    const i64 rows = ROWS;
    const int lane = THREAD_X % 32, warp = THREAD_X / 32, own_k = warp / WARPS_N;
    const int quad = lane / 4, place = lane % 4;
    const int block_n = BLOCK_X * BN, n0 = block_n + warp % WARPS_N * OWN;
    const int first = BLOCK_Z * PART_TILES, tiles = MIN(PART_TILES, TILES - first);
    const int steps = CEIL_DIV(MAX(tiles - own_k, 0), WARPS_K);
    LOCAL X_T *const xs = (LOCAL X_T *)pool;
    LOCAL u32 *const ring = (LOCAL u32 *)(xs + M * X_PITCH) + warp * (STAGES * TILE);
    LOCAL const u32 *const ring_lane = ring + quad * PITCH + place;
    GLOBAL const u32 *const mine =
        weight + ((i64)(n0 + LANE_PIECE_ROW) * ROW_WORDS + LANE_PIECE_WORD);
    LOCAL const X_T *columns[MT];
    float acc[NT][MT][4], part[NT][MT][4];
    params next;
    UNROLL
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps)
            fill_words(ring + s * TILE, weight, mine, N - n0, first + own_k + s * WARPS_K);
        cp_async_commit();
    }
    if (steps > 0)
        fetch_params(&next, scale, ZERO_ARGUMENT n0, first + own_k);
    UNROLL_BY(4)
    for (int at = THREAD_X; at < (int)rows * (PART_K / XV); at += THREADS) {
        const int m = at / (PART_K / XV), k = at % (PART_K / XV) * XV;
        vec_x from, to;
        if (first * DEPTH + k < K) {
            from = *(GLOBAL const vec_x *)(x + (i64)m * K + first * DEPTH + k);
        } else {
            UNROLL
            for (int e = 0; e < XV; e++)
                from.v[e] = 0;
        }
        UNROLL
        for (int e = 0; e < XV; e++)
            to.v[e] = from.v[e / 2 + e % 2 * HALF];
        *(LOCAL vec_x *)(xs + m * X_PITCH + k) = to;
    }
    UNROLL
    for (int j = 0; j < MT; j++)
        columns[j] =
            xs + MIN(8 * j + quad, (int)rows - 1) * X_PITCH + own_k * DEPTH + place * PER;
    UNROLL
    for (int s = 0; s < NT * MT * 4; s++)
        acc[s / 4 / MT][s / 4 % MT][s % 4] = part[s / 4 / MT][s / 4 % MT][s % 4] = 0;
    BARRIER();
    int read = 0, write = STAGES - 1;
    UNROLL_BY(1)
    for (int t = 0; t < steps; t++) {
        LOCAL const u32 *const words = ring_lane + read * TILE;
        const int more = t + STAGES - 1, tile = own_k + t * WARPS_K;
        const params now = next;
        zero_point z[2 * NT];
        CP_ASYNC_WAIT(STAGES - 2);
        WARP_BARRIER();
        if (more < steps)
            fill_words(ring + write * TILE, weight, mine, N - n0,
                       first + own_k + more * WARPS_K);
        cp_async_commit();
        if (t + 1 < steps)
            fetch_params(&next, scale, ZERO_ARGUMENT n0, first + tile + WARPS_K);
        UNROLL
        for (int u = 0; u < UNITS; u++) {
            const int g = SHORT ? u * (4 * PER) / GROUP : 0;
            vec_words b[MT];
            if (u * (4 * PER) % GROUP == 0 || u == 0) {
                UNROLL
                for (int h = 0; h < 2 * NT; h++) {
#if ZERO
                    z[h] = LEVELS_ZERO(ZERO_OF_STORED((ZERO_T)RAW_BITS(now.z[h], g, 1)));
#else
                    z[h] = LEVELS_ZERO(ZERO_AT(0));
#endif
                }
            }
            UNROLL
            for (int j = 0; j < MT; j++)
                b[j] = *(LOCAL const vec_words *)(columns[j] + u * (4 * PER));
            UNROLL
            for (int i = 0; i < NT; i++) {
                u32 a[DEEP][4];
                UNROLL
                for (int h = 0; h < 2; h++) {
                    const u32 word = words[(i * 16 + h * 8) * PITCH + 4 * u];
                    UNROLL
                    for (int p = 0; p < PER / 2; p++)
                        a[p / 2][h + p % 2 * 2] = LEVELS_PAIR(word, p, z[2 * i + h]);
                }
                UNROLL
                for (int d = 0; d < DEEP; d++) {
                    UNROLL
                    for (int j = 0; j < MT; j++)
                        MMA(part[i][j], a[d], &b[j].v[2 * d]);
                }
            }
            if (SHORT && (u + 1) * (4 * PER) % GROUP == 0)
                end_group(acc, part, &now, g);
        }
        if (!SHORT)
            end_group(acc, part, &now, 0);
        UNROLL
        for (int j = 0; j < MT; j++)
            columns[j] += WARPS_K * DEPTH;
        write = read;
        read = read + 1 == STAGES ? 0 : read + 1;
    }
    /* Warps that share the depth leave their sums, [row][row of the weight]. */
    LOCAL float *const sums = (LOCAL float *)pool;
    BARRIER();
    UNROLL
    for (int s = 0; s < NT * MT * 4; s++) {
        const int i = s / 4 / MT, j = s / 4 % MT, e = s % 4;
        sums[(own_k * 8 * MT + 8 * j + 2 * place + e % 2) * SUM_PITCH + warp % WARPS_N * OWN +
             LANE_ROW(2 * i + e / 2)] = acc[i][j][e];
    }
    BARRIER();
#if SPLITS > 1
    out += BLOCK_Z * ((i64)M * N);
#endif
    for (int at = THREAD_X; at < (int)rows * BN; at += THREADS) {
        const int m = at / BN, n = block_n + at % BN;
        float sum = 0;
        UNROLL
        for (int w = 0; w < WARPS_K; w++)
            sum += sums[(w * 8 * MT + m) * SUM_PITCH + at % BN];
        if (n < N) {
#if SPLITS > 1
            out[(i64)m * N + n] = sum;
#else
            EPILOGUE_APPLY(sum, (i64)m * N + n)
            out[(i64)m * N + n] = ROUND(sum);
#endif
        }
    }
}
