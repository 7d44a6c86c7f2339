/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits of a few rows by tensor cores, as fast as the weight is read. The weight is the left
 * side of the products: a warp has NT times 16 of its rows, the data's rows are columns, eight a
 * product. Each warp copies what it reads into a ring of its own, 16 bytes at a time, STAGES tiles
 * of depth ahead, with the scales that go with them, and waits for no other; the data of the
 * block's part of the depth is staged once.
 *
 * Sums do not care in which order depth comes. Of four words of a row each thread of a quad takes
 * one, whose integers become pairs of 16-bit floats by an `and` and an `or`: those whose places
 * differ by half a word are a pair. The data is staged in the order of these pairs. An integer less
 * its zero point is exact; a group's sums are kept apart and added, times its scale, in float32.
 *
 * A block has WARPS_N warps side by side along rows of the weight, WARPS_K of these share its depth
 * in turns of a tile, and SPLITS blocks share all of it, whose sums `finish` adds. BLOCKS blocks
 * take the tiles of BN rows in turns; their rings go on from one to the next.
 *
 * Macros beside those of nbits_gpu.kernel.h and mma_finish_gpu.kernel.h: NT MT (tiles of a warp),
 * WARPS_N WARPS_K, DEPTH (of a tile; a multiple of GROUP, or GROUP of it, or there is one group),
 * STAGES, BLOCKS, ROW_COPY (bytes of a row that are copied at once), SCALE_COPY ZERO_COPY (the
 * same of its scales and zero points; 0: they are no part of the ring but loaded one tile ahead),
 * SCALE_V ZERO_V (of these, what is loaded at once), SCALE_BYTES, BRAIN (bfloat16), MMA PAIR,
 * POOL_BYTES, RESIDENT (blocks of a multiprocessor; 0: not told). GROUP is a multiple of four
 * words.
 */
#include "kernels/common/mma_gpu.kernel.h"
#include "kernels/common/warp_gpu.kernel.h"
#include "kernels/nbits/gpu/levels_gpu.kernel.h"

#define ALL_ROWS ((i64)ROWS)
#include "kernels/matmul/gpu/mma_finish_gpu.kernel.h"

#define THREADS (32 * WARPS_N * WARPS_K)
#define OWN (16 * NT)       /* rows of the weight that a warp has */
#define BN (OWN * WARPS_N)  /* and a block */
#define WORDS (DEPTH / PER) /* of a row in a tile */
#define PITCH                                                                                  \
    (WORDS + (WIDE ? 0 : 4)) /* words; the rows of a fragment fall on different banks */
/* Where word `w` of a row is: where rows are whole lines of banks, every other one is turned. */
#define ROW_WORD(row, w) (WIDE && WORDS % 32 == 0 ? (w) ^ ((row)&1) * 16 : (w))
#define TILE (OWN * PITCH) /* words of the weight in a stage */
#define TILES CEIL_DIV(K, DEPTH)
#define PART_TILES CEIL_DIV(TILES, SPLITS)
#define PART_K (PART_TILES * DEPTH)
#define X_PITCH (PART_K + 4 * PER)
#define UNITS (WORDS / 4) /* four words of a row, one for each thread of a quad */
#define DEEP (PER / 4)    /* products of a unit */
#define SHORT (GROUP < DEPTH && GROUPS > 1) /* several groups in a tile */
#define TILE_GROUPS (SHORT ? DEPTH / GROUP : 1)
#define SUM_PITCH (BN + 4)
#define ROW_TILES CEIL_DIV(N, BN)
#define RINGS (WARPS_N * WARPS_K * STAGES * STAGE)              /* words */
#define TURNS CEIL_DIV(ROW_TILES, BLOCKS)                       /* of a block */
#define SCALE_ROOM (SCALE_COPY ? TILE_GROUPS * SCALE_BYTES : 0) /* bytes of a row in a stage */
#define ZERO_ROOM (ZERO && ZERO_COPY ? TILE_GROUPS : 0)
#define STAGE (TILE + OWN * (SCALE_ROOM + ZERO_ROOM) / 4) /* words */

/* A product has eight columns. Where the data has fewer rows, each row has SHARED_BY of them, which
 * take the groups of depth in turns: a lane has the data of its column's groups and zeros for the
 * others', and the sums of SHARED_BY groups are scaled at once. */
#if MT == 1 && SCALE_COPY > 0
#define SHARED_BY MIN(M == 1 ? 8 : M == 2 ? 4 : M <= 4 ? 2 : 1, TILE_GROUPS)
#else
#define SHARED_BY 1
#endif
#define NOTHING (M * X_PITCH) /* zeros for as many elements as a tile is deep */
#define LANE_COLUMN (THREAD_X % 32 / 4)
#define LANE_PLACE (THREAD_X % 4)
#define SUM_ROWS (SHARED_BY > 1 ? 4 : 8 * MT) /* of a warp: a place of a quad, or a column */

/* A thread of a quad has four words of sixteen in a row, where their groups have columns of their
 * own; else one of four. */
#define WIDE_GROUPS (GROUPS > 1 && GROUP < 16 * PER ? 16 * PER / GROUP : 1)
#define WIDE                                                                                   \
    (WORDS % 16 == 0 && SHARED_BY > 1 && WIDE_GROUPS <= SHARED_BY &&                           \
     (!ZERO || WIDE_GROUPS == 1))
#define SPAN (WIDE ? 4 : 1)     /* units whose words a thread has side by side */
#define SPAN_K (SPAN * 4 * PER) /* elements of depth in as many units */
#define OWNERS (SHARED_BY / (WIDE ? WIDE_GROUPS : 1))
#define OWNER(s) ((s)*SPAN_K / (GROUP * (WIDE ? WIDE_GROUPS : 1)) % OWNERS)

/* Rows beyond the last one have its scales. */
#define ROW_INSIDE(n) (N % BN == 0 ? (i64)(n) : MIN((i64)(n), (i64)N - 1))
#define GROUP_OF(t, g)                                                                         \
    (SHORT && GROUPS % TILE_GROUPS == 0 && (i64)GROUP * GROUPS == (i64)DEPTH * TILES           \
         ? (t)*TILE_GROUPS + (g)                                                               \
         : MIN((GROUPS > 1 ? (t)*DEPTH / GROUP : 0) + (g), GROUPS - 1))

/* Parameters of a row's groups in a tile, as they lie in memory: BYTES each, in words, `v` loaded
 * at once; where these make no whole words each has a word. */
#define RAW_PER(v, bytes) ((v) * (bytes) % 4 == 0 ? 4 / (bytes) : 1) /* in a word */
#define RAW_WORDS(v, bytes) (TILE_GROUPS / RAW_PER(v, bytes))
#define RAW_BITS(raw, g, v, bytes)                                                             \
    ((raw)[(g) / RAW_PER(v, bytes)] >> (g) % RAW_PER(v, bytes) * (8 * (bytes)))
#define RAW_FETCH(to, space, from, n, bytes, vec)                                              \
    if ((n) * (bytes) % 4 == 0) {                                                              \
        const vec some = *(space const vec *)(from);                                           \
        UNROLL for (int w = 0; w < (n) * (bytes) / 4; w++)(to)[w] = some.v[w];                 \
    } else {                                                                                   \
        UNROLL for (int e = 0; e < (n); e++)(to)[e] = (from)[e];                               \
    }

VECTOR(vec_words, u32, PER / 2);
VECTOR(vec_span, u32, SPAN);
VECTOR(vec_scale, u32, MAX(SCALE_V *SCALE_BYTES / 4, 1));
#if ZERO
VECTOR(vec_zero, u32, MAX(ZERO_V / 4, 1));
#define ZERO_ARGUMENT zero,
#else
#define ZERO_ARGUMENT
#endif

/* Of a tile's groups, for each of the 2 NT rows of the weight that a lane has. */
typedef struct params {
    u32 by[2 * NT][RAW_WORDS(SCALE_V, SCALE_BYTES)];
#if ZERO
    u32 z[2 * NT][RAW_WORDS(ZERO_V, 1)];
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
        LOCAL u32 *const place =
            to + (LANE_PIECE_ROW + r) * PITCH + ROW_WORD(LANE_PIECE_ROW + r, LANE_PIECE_WORD);
#if ROW_COPY == 16
        cp_async_16_zero(place, line, have);
#elif ROW_COPY == 8
        cp_async_8_zero(place, line, have);
#else
        cp_async_4_zero(place, line, have);
#endif
    }
}

/* The same of parameters: `bytes` of a row in a tile, `copy` at once. */
INLINE void fill_params(LOCAL unsigned char *to, GLOBAL const unsigned char *RESTRICT from,
                        const int bytes, const int copy, int n0, int t)
{
    const int pieces = bytes / copy, row_bytes = GROUPS * (bytes / TILE_GROUPS);
    UNROLL
    for (int first = 0; first < OWN * pieces; first += 32) {
        const int at = first + THREAD_X % 32, row = at / pieces, part = at % pieces * copy;
        const bool inside = t * bytes + part < row_bytes;
        GLOBAL const unsigned char *const line =
            from + (inside ? ROW_INSIDE(n0 + row) * row_bytes + (i64)t * bytes + part : 0);
        LOCAL unsigned char *const place = to + row * bytes + part;
        if (OWN * pieces % 32 != 0 && at >= OWN * pieces)
            continue;
        if (copy == 16)
            cp_async_16_zero(place, line, inside ? 16 : 0);
        else if (copy == 8)
            cp_async_8_zero(place, line, inside ? 8 : 0);
        else
            cp_async_4_zero(place, line, inside ? 4 : 0);
    }
}

/* All that the ring has of tile `t`. */
INLINE void fill_stage(LOCAL u32 *to, GLOBAL const u32 *RESTRICT weight,
                       GLOBAL const u32 *RESTRICT mine, GLOBAL const SCALE_T *RESTRICT scale,
                       ZERO_PARAMETER int n0, int t)
{
    fill_words(to, weight, mine, N - n0, t);
#if SCALE_COPY > 0
    fill_params((LOCAL unsigned char *)(to + TILE), (GLOBAL const unsigned char *)scale,
                TILE_GROUPS * SCALE_BYTES, SCALE_COPY, n0, t);
#endif
#if ZERO && ZERO_COPY > 0
    fill_params((LOCAL unsigned char *)(to + TILE) + OWN * SCALE_ROOM,
                (GLOBAL const unsigned char *)zero, TILE_GROUPS, ZERO_COPY, n0, t);
#endif
}

/* Those that are not in the ring, of tile `t`. */
INLINE void fetch_params(params *to, GLOBAL const SCALE_T *RESTRICT scale,
                         ZERO_PARAMETER int n0, int t)
{
    UNROLL
    for (int h = 0; h < 2 * NT; h++) {
        const i64 row = ROW_INSIDE(n0 + LANE_ROW(h)) * GROUPS;
#if SCALE_COPY == 0
        UNROLL
        for (int v = 0; v < TILE_GROUPS; v += SCALE_V)
            RAW_FETCH(to->by[h] + v / RAW_PER(SCALE_V, SCALE_BYTES), GLOBAL,
                      scale + row + GROUP_OF(t, v), SCALE_V, SCALE_BYTES, vec_scale)
#endif
#if ZERO && ZERO_COPY == 0
        UNROLL
        for (int v = 0; v < TILE_GROUPS; v += ZERO_V)
            RAW_FETCH(to->z[h] + v / RAW_PER(ZERO_V, 1), GLOBAL, zero + row + GROUP_OF(t, v),
                      ZERO_V, 1, vec_zero)
#endif
    }
}

/* Those that are, of the stage at `from`. */
INLINE void read_params(params *to, LOCAL const u32 *from)
{
    UNROLL
    for (int h = 0; h < 2 * NT; h++) {
#if SCALE_COPY > 0
        LOCAL const SCALE_T *const by = (LOCAL const SCALE_T *)(from + TILE);
        UNROLL
        for (int v = 0; v < TILE_GROUPS; v += SCALE_V)
            RAW_FETCH(to->by[h] + v / RAW_PER(SCALE_V, SCALE_BYTES), LOCAL,
                      by + LANE_ROW(h) * TILE_GROUPS + v, SCALE_V, SCALE_BYTES, vec_scale)
#endif
#if ZERO && ZERO_COPY > 0
        LOCAL const ZERO_T *const z =
            (LOCAL const ZERO_T *)((LOCAL const unsigned char *)(from + TILE) +
                                   OWN * SCALE_ROOM);
        UNROLL
        for (int v = 0; v < TILE_GROUPS; v += ZERO_V)
            RAW_FETCH(to->z[h] + v / RAW_PER(ZERO_V, 1), LOCAL,
                      z + LANE_ROW(h) * TILE_GROUPS + v, ZERO_V, 1, vec_zero)
#endif
    }
}

#if SCALE_BYTES == 4
#define SCALE_FLOAT(bits) BITS_FLOAT(bits)
#else
#define SCALE_FLOAT(bits) SCALE_OF((u16)(bits))
#endif

/* A mask that compilers for NVIDIA know for none: they would compare again wherever it is used. */
#ifdef OT_OPENCL
#define KEPT(mask) (mask)
#else
INLINE int KEPT(int mask)
{
    asm("" : "+r"(mask));
    return mask;
}
#endif

VECTOR(vec_scales, SCALE_T, 2);

/* The sums of the groups up to g, in the tile at `from`, are over. */
INLINE void end_groups(float acc[NT][MT][4], float part[NT][MT][4], const params *now,
                       LOCAL const u32 *from, int g)
{
    UNROLL
    for (int h = 0; h < 2 * NT; h++) {
        float by[2];
        if (SHARED_BY > 1) {
            const vec_scales two =
                *(LOCAL const vec_scales *)((LOCAL const SCALE_T *)(from + TILE) +
                                            LANE_ROW(h) * TILE_GROUPS + g + 1 - SHARED_BY +
                                            2 * LANE_PLACE % SHARED_BY);
            by[0] = SCALE_OF(two.v[0]);
            by[1] = SCALE_OF(two.v[1]);
        } else {
            by[0] = by[1] = SCALE_FLOAT(RAW_BITS(now->by[h], g, SCALE_V, SCALE_BYTES));
        }
        UNROLL
        for (int s = 0; s < MT * 2; s++) {
            const int j = s / 2, e = h % 2 * 2 + s % 2;
            acc[h / 2][j][e] = FMA(part[h / 2][j][e], by[s % 2], acc[h / 2][j][e]);
            part[h / 2][j][e] = 0;
        }
    }
}

/* In `product`: copies what is next into a stage, or fetches it, and goes on, first along the depth
 * and then to the block's next tile of rows. */
#define FILL(to)                                                                               \
    fill_stage(to, weight, mine, scale, ZERO_ARGUMENT fill_n,                                  \
               first + own_k + fill_t * WARPS_K);                                              \
    if (++fill_t == steps) {                                                                   \
        fill_t = 0;                                                                            \
        fill_n += apart;                                                                       \
        mine += (i64)apart * ROW_WORDS;                                                        \
    }
#define FETCH()                                                                                \
    fetch_params(&next, scale, ZERO_ARGUMENT fetch_n, first + own_k + fetch_t * WARPS_K);      \
    if (++fetch_t == steps) {                                                                  \
        fetch_t = 0;                                                                           \
        fetch_n += apart;                                                                      \
    }

#if RESIDENT
KERNEL_RESIDENT(THREADS, 1, 1, RESIDENT)
#else
KERNEL(THREADS, 1, 1)
#endif
product(GLOBAL const X_T *RESTRICT x, GLOBAL const u32 *RESTRICT weight,
        GLOBAL const SCALE_T *RESTRICT scale,
        ZERO_PARAMETER GLOBAL STORED *RESTRICT out PRODUCT_PARAMETERS(OUT))
{
    SHARED(pool, POOL_BYTES);
    const i64 rows = ROWS;
    const int lane = THREAD_X % 32, warp = THREAD_X / 32, own_k = warp / WARPS_N;
    const int quad = lane / 4, place = lane % 4;
    const int own_n = warp % WARPS_N * OWN, apart = BLOCKS * BN;
    const int first = BLOCK_Z * PART_TILES, tiles = MIN(PART_TILES, TILES - first);
    const int steps = CEIL_DIV(MAX(tiles - own_k, 0), WARPS_K);
    const int turns = CEIL_DIV(ROW_TILES - BLOCK_X, BLOCKS), all = turns * steps;
    LOCAL X_T *const xs = (LOCAL X_T *)pool;
    LOCAL u32 *const rings = (LOCAL u32 *)(xs + NOTHING + (SHARED_BY > 1 ? DEPTH : 0));
    LOCAL u32 *const ring = rings + warp * (STAGES * STAGE);
    LOCAL float *const sums = (LOCAL float *)(TURNS > 1 ? rings + RINGS : (LOCAL u32 *)pool);
    LOCAL const u32 *const ring_lane = ring + quad * PITCH;
    int columns[MT], is_own[OWNERS];
    params next;
    /* What is copied next: of which rows, in which step. */
    int fill_n = BLOCK_X * BN + own_n, fill_t = 0, fetch_n = fill_n, fetch_t = 0;
    GLOBAL const u32 *mine =
        weight + ((i64)(fill_n + LANE_PIECE_ROW) * ROW_WORDS + LANE_PIECE_WORD);
    UNROLL
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < all) {
            FILL(ring + s * STAGE)
        }
        cp_async_commit();
    }
    if (steps > 0) {
        FETCH()
    }
    UNROLL_BY(8)
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
    for (int at = THREAD_X; at < (SHARED_BY > 1 ? DEPTH : 0); at += THREADS)
        xs[NOTHING + at] = 0;
    UNROLL
    for (int c = 0; c < OWNERS; c++) {
        const int column =
            WIDE && WIDE_GROUPS > 1 ? c * WIDE_GROUPS + LANE_PLACE * (4 * PER) / GROUP : c;
        is_own[c] = KEPT(LANE_COLUMN % SHARED_BY == column ? ~0 : 0);
    }
    UNROLL
    for (int j = 0; j < MT; j++)
        columns[j] = (MIN(8 * j + LANE_COLUMN / SHARED_BY, (int)rows - 1) * X_PITCH +
                      own_k * DEPTH + place * (SPAN * PER)) *
                     SIZE;
    BARRIER();
    int read = 0, write = STAGES - 1, more = STAGES - 1;
    UNROLL_BY(1)
    for (int turn = 0; turn < turns; turn++) {
        const int block_n = (BLOCK_X + turn * BLOCKS) * BN;
        float acc[NT][MT][4], part[NT][MT][4];
        UNROLL
        for (int s = 0; s < NT * MT * 4; s++)
            acc[s / 4 / MT][s / 4 % MT][s % 4] = part[s / 4 / MT][s / 4 % MT][s % 4] = 0;
        UNROLL_BY(1)
        for (int t = 0; t < steps; t++) {
            LOCAL const u32 *const words = ring_lane + read * STAGE;
            LOCAL const u32 *const stage = ring + read * STAGE;
            params now = next;
            zero_point z[2 * NT];
            int at[MT];
            UNROLL
            for (int j = 0; j < MT; j++)
                at[j] = columns[j] + t * (WARPS_K * DEPTH * SIZE);
            CP_ASYNC_WAIT(STAGES - 2);
            WARP_BARRIER();
            if (more < all) {
                FILL(ring + write * STAGE)
            }
            more++;
            cp_async_commit();
            if (t + 1 < steps || turn + 1 < turns) {
                FETCH()
            }
            read_params(&now, stage);
            UNROLL
            for (int s = 0; s < UNITS / SPAN; s++) {
                const int g = SHORT ? s * SPAN_K / GROUP : 0;
                vec_span some[2 * NT];
                int from[MT];
                if (s * SPAN_K % GROUP == 0 || s == 0) {
                    UNROLL
                    for (int h = 0; h < 2 * NT; h++) {
#if ZERO
                        z[h] = LEVELS_ZERO(
                            ZERO_OF_STORED((ZERO_T)RAW_BITS(now.z[h], g, ZERO_V, 1)));
#else
                        z[h] = LEVELS_ZERO(ZERO_AT(0));
#endif
                    }
                }
                UNROLL
                for (int h = 0; h < 2 * NT; h++)
                    some[h] =
                        *(LOCAL const vec_span *)(words + h * 8 * PITCH +
                                                  ROW_WORD(quad, s * 4 * SPAN + place * SPAN));
                UNROLL
                for (int j = 0; j < MT; j++)
                    from[j] = SHARED_BY > 1 ? NOTHING * SIZE ^
                                                  (is_own[OWNER(s)] & (NOTHING * SIZE ^ at[j]))
                                            : at[j];
                UNROLL
                for (int u = 0; u < SPAN; u++) {
                    vec_words b[MT];
                    UNROLL
                    for (int j = 0; j < MT; j++)
                        b[j] = *(LOCAL const vec_words *)(pool + from[j] +
                                                          (s * SPAN_K + u * PER) * SIZE);
                    UNROLL
                    for (int i = 0; i < NT; i++) {
                        u32 a[DEEP][4];
                        UNROLL
                        for (int h = 0; h < 2; h++) {
                            const u32 word = some[2 * i + h].v[u];
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
                }
                if (SHORT && (s + 1) * SPAN_K % (GROUP * SHARED_BY) == 0)
                    end_groups(acc, part, &now, stage, (s + 1) * SPAN_K / GROUP - 1);
            }
            if (!SHORT)
                end_groups(acc, part, &now, stage, 0);
            write = read;
            read = read + 1 == STAGES ? 0 : read + 1;
        }
        /* Warps that share the depth leave their sums, [column or place][row of the weight]. */
        if (TURNS == 1 || turn > 0)
            BARRIER();
        UNROLL
        for (int s = 0; s < NT * MT * 4; s++) {
            const int i = s / 4 / MT, j = s / 4 % MT, e = s % 4;
            const int row = own_n + LANE_ROW(2 * i + e / 2);
            if (SHARED_BY == 1)
                sums[(own_k * SUM_ROWS + 8 * j + 2 * place + e % 2) * SUM_PITCH + row] =
                    acc[i][j][e];
            else if (e % 2 == 0)
                sums[(own_k * SUM_ROWS + place) * SUM_PITCH + row] =
                    acc[i][j][e] + acc[i][j][e + 1];
        }
        BARRIER();
        for (int at = THREAD_X; at < (int)rows * BN; at += THREADS) {
            const int m = at / BN, n = block_n + at % BN;
            float sum = 0;
            UNROLL
            for (int w = 0; w < WARPS_K; w++) {
                UNROLL
                for (int q = 0; q < MAX(SHARED_BY / 2, 1); q++)
                    sum += sums[(w * SUM_ROWS + m * MAX(SHARED_BY / 2, 1) + q) * SUM_PITCH +
                                at % BN];
            }
            if (n < N) {
#if SPLITS > 1
                out[BLOCK_Z * ((i64)M * N) + (i64)m * N + n] = sum;
#else
                EPILOGUE_APPLY(sum, (i64)m * N + n)
                out[(i64)m * N + n] = ROUND(sum);
#endif
            }
        }
    }
}
