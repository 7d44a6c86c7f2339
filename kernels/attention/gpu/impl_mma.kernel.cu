/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_mma.cuda: a block of WARPS warps computes TQ = 16 MT WARPS rows of one head in an
 * online softmax over tiles of TK keys, both products by tensor cores, sums in float32. A warp has
 * whole rows: a quad of its threads holds each, so the softmax needs two shuffles, and weights go
 * from sums of the first product into operands of the second without leaving registers. They are
 * rounded to the elements' type, once, as the output is.
 *
 * Keys and values travel by asynchronous copies, each a group of its own. With STAGES > 1 they are
 * so many tiles ahead in a ring; with one, values are copied while scores are computed, the next
 * keys while outputs are. Tiles are rows of 16-byte chunks, in eights; chunk c of row r lies at
 * c ^ r % 8 of its eight, so that neither ldmatrix nor the copies meet on a bank. Tiles that no row
 * of the block sees are not visited, and the longest blocks come first.
 *
 * Macros beside attention_define's: WARPS MT TK STAGES; HOLD, whether fragments of queries stay in
 * registers; MMA, PAIR: a word of mma_gpu.kernel.h, and the one that packs two sums; POOL.
 * The order of the loop is that of Dao's FlashAttention-2 (2023).
 */
#include "kernels/attention/gpu/hide_gpu.kernel.h"
#include "kernels/common/mma_gpu.kernel.h"
#include "kernels/common/pairs_gpu.kernel.h"

#define TQ (16 * MT * WARPS)
#define THREADS (32 * WARPS)
#define STEPS CEIL_DIV(D, 16) /* products along the depth */
#define COLUMNS CEIL_DIV(DV, 16)
#define KEYS (TK / 16)
#define K_PITCH (CEIL_DIV(D, 64) * 128)
#define V_PITCH (CEIL_DIV(DV, 64) * 128)
#define K_BYTES (TK * K_PITCH)
#define STAGE_BYTES (K_BYTES + TK * V_PITCH)

typedef unsigned char byte;

/* Where chunk c of a row lies. */
INLINE int place(int pitch, int row, int c)
{
    return row * pitch + c / 8 * 128 + (c % 8 ^ row % 8) * 16;
}

/* Rows of whole pairs of chunks lie chunk behind chunk: then `from` is a thread's first chunk of a
 * tile, behind which its others are constants, else the tile's first row. */
#define FIRST(width) ((width) % 16 == 0 ? THREAD_X * 8 : 0)

/* `count` rows of `width` elements into a tile, from row `first` of the matrix on, which has `end`.
 * Rows behind it are zeros. */
INLINE void fill(LOCAL byte *to, GLOBAL const IN_T *from, const int count, const int width,
                 const int pitch, int first, const int end)
{
    const int chunks = CEIL_DIV(width, 16) * 2, all = count * chunks;
    const bool line = width % 16 == 0;
    const bool apart = THREADS % (chunks * 8) == 0; /* by whole eights of rows */
    LOCAL byte *const mine = to + place(pitch, THREAD_X / chunks, THREAD_X % chunks);
    UNROLL
    for (int i = 0; i < CEIL_DIV(all, THREADS); i++) {
        const int e = THREAD_X + i * THREADS, r = e / chunks, c = e % chunks;
        if (all % THREADS == 0 || e < all) {
            LOCAL byte *const at =
                apart ? mine + i * (THREADS / chunks) * pitch : to + place(pitch, r, c);
            GLOBAL const IN_T *const source =
                from + (line ? i * THREADS * 8 : r * width + c * 8);
            if (line && end % count == 0)
                cp_async_16(at, source);
            else
                cp_async_16_zero(at, source, first + r < end && c * 8 < width ? 16 : 0);
        }
    }
}

/* The block's queries, behind the last of which that one is repeated. */
INLINE void fill_queries(LOCAL byte *to, GLOBAL const IN_T *from, int first)
{
    const int chunks = STEPS * 2, all = TQ * chunks;
    UNROLL
    for (int i = 0; i < CEIL_DIV(all, THREADS); i++) {
        const int e = THREAD_X + i * THREADS, r = e / chunks, c = e % chunks;
        if (all % THREADS == 0 || e < all) {
            LOCAL byte *const at = to + place(K_PITCH, r, c);
            GLOBAL const IN_T *const source = from + MIN(first + r, ROWS - 1) * D + c * 8;
            if (D % 16 == 0)
                cp_async_16(at, source);
            else
                cp_async_16_zero(at, source, c * 8 < D ? 16 : 0);
        }
    }
}

/* Four matrices: of 16 rows from row `row` on, at step `k` along them; or the other way round. */
INLINE void load_rows(u32 *r, LOCAL const byte *tile, int pitch, int lane_at, int row, int k)
{
    ldmatrix_x4(r, tile + (lane_at ^ k % 4 * 32) + k / 4 * 128 + row * pitch);
}
INLINE void load_columns(u32 *r, LOCAL const byte *tile, int pitch, int lane_at, int row, int k)
{
    ldmatrix_x4_trans(r, tile + (lane_at ^ k % 4 * 32) + k / 4 * 128 + row * pitch);
}

#define ZERO(sums, n)                                                                          \
    UNROLL                                                                                     \
    for (int i = 0; i < (n)*MT * 8; i++)                                                       \
        sums[i / (MT * 8)][i / 8 % MT][i / 4 % 2][i % 4] = 0;
#define SCORE(two, e, row) score[(two) / 2][(row) / 2][(two) % 2][(row) % 2 * 2 + (e)]
/* One tile after the other. */
#define FILL_K(t)                                                                              \
    fill(ring + (t) % STAGES * STAGE_BYTES, k, TK, D, K_PITCH, (t)*TK, SKV);                   \
    k += TK * D;                                                                               \
    OPAQUE_POINTER(k);
#define FILL_V(t)                                                                              \
    fill(ring + (t) % STAGES * STAGE_BYTES + K_BYTES, v, TK, DV, V_PITCH, (t)*TK, SKV);        \
    v += TK * DV;                                                                              \
    OPAQUE_POINTER(v);

KERNEL(THREADS, 1, 1)
attention(GLOBAL const IN_T *RESTRICT q, GLOBAL const IN_T *RESTRICT k,
          GLOBAL const IN_T *RESTRICT v, GLOBAL IN_T *RESTRICT out MASK_PARAMETER)
{
    SHARED(pool, POOL);
    LOCAL byte *const queries = pool, *const ring = pool + TQ * K_PITCH;
    const int lane = THREAD_X % 32, warp_row = THREAD_X / 32 * (16 * MT);
    const int head = BLOCK_Y, row0 = (CEIL_DIV(ROWS, TQ) - 1 - BLOCK_X) * TQ;
    const int end = keys_of_rows(row0, TQ), tiles = CEIL_DIV(end, TK);
    const int all_see = keys_of_all(row0 + warp_row, 16 * MT);
    /* Of queries rows come first, of keys the depth, in the four matrices of a load. */
    const int q_at = place(K_PITCH, warp_row + lane % 16, lane / 16);
    const int k_at = place(K_PITCH, lane / 16 * 8 + lane % 8, lane / 8 % 2);
    const int v_at = place(V_PITCH, lane % 16, lane / 16);
    u32 held[HOLD ? STEPS : 1][MT][4];
    float acc[COLUMNS][MT][2][4], most[2 * MT], sum[2 * MT];
    q += (i64)head * ROWS * D;
    k += (i64)head * SKV * D + FIRST(D);
    v += (i64)head * SKV * DV + FIRST(DV);
    UNROLL
    for (int i = 0; i < 2 * MT; i++) {
        most[i] = START;
        sum[i] = 0;
    }
    ZERO(acc, COLUMNS)
    fill_queries(queries, q, row0);
    cp_async_commit();
#if STAGES == 1
    FILL_K(0)
    cp_async_commit();
#else
    UNROLL
    for (int t = 0; t < STAGES - 1; t++) {
        if (t < tiles) {
            FILL_K(t)
        }
        cp_async_commit();
        if (t < tiles) {
            FILL_V(t)
        }
        cp_async_commit();
    }
#endif
    if (HOLD) {
        CP_ASYNC_WAIT(2 * STAGES - (STAGES > 1 ? 2 : 1));
        BARRIER();
        UNROLL
        for (int s = 0; s < STEPS; s++) {
            UNROLL
            for (int i = 0; i < MT; i++)
                load_rows(held[HOLD ? s : 0][i], queries, K_PITCH, q_at, 16 * i, s);
        }
    }
    UNROLL_BY(1)
    for (int t = 0; t < tiles; t++) {
        LOCAL const byte *const tile = ring + t % STAGES * STAGE_BYTES;
        float score[KEYS][MT][2][4];
#if VOTED
        voted_mask masks[VOTES];
        masks_fetch(masks, mask + mask_row(head, row0), t * TK);
#endif
        ZERO(score, KEYS)
        CP_ASYNC_WAIT(STAGES == 1 ? 0 : 2 * STAGES - 3);
        BARRIER();
#if STAGES == 1
        FILL_V(t)
        cp_async_commit();
#else
        if (t + STAGES - 1 < tiles) {
            FILL_K(t + STAGES - 1)
        }
        cp_async_commit();
        if (t + STAGES - 1 < tiles) {
            FILL_V(t + STAGES - 1)
        }
        cp_async_commit();
#endif
        UNROLL
        for (int s = 0; s < STEPS; s++) {
            if (!HOLD) {
                UNROLL
                for (int i = 0; i < MT; i++)
                    load_rows(held[0][i], queries, K_PITCH, q_at, 16 * i, s);
            }
            UNROLL
            for (int j = 0; j < KEYS; j++) {
                u32 b[2][2];
                load_rows(b[0], tile, K_PITCH, k_at, 16 * j, s);
                MMA_TILE(MMA, MT, 2, score[j], held[HOLD ? s : 0], b);
            }
        }
        if ((MASKED && !VOTED) || (!ALL_SEEN && (t + 1) * TK > all_see)) {
            UNROLL
            for (int i = 0; i < 2 * MT; i++) {
                const int r = MIN(row0 + warp_row + lane / 4 + 8 * i, ROWS - 1);
                const int sees = keys_of(r);
                const i64 row = mask_row(head, r);
                UNROLL
                for (int two = 0; two < 2 * KEYS; two++) {
                    float *const s = &score[two / 2][i / 2][two % 2][i % 2 * 2];
                    const int key = t * TK + two * 8 + lane % 4 * 2;
                    hide_pair(s, row, key, ALL_SEEN ? key + 2 : sees MASK_ARGUMENT);
                }
            }
        } else if (SCALE <= 0) {
            UNROLL
            for (int e = 0; e < KEYS * MT * 8; e++) {
                float *const s = &score[e / (MT * 8)][e / 8 % MT][e / 4 % 2][e % 4];
                *s = EARLY(*s);
            }
        }
        HIDE_VOTED(masks, 2 * MT, SCORE)
        UNROLL
        for (int i = 0; i < 2 * MT; i++) {          /* row lane / 4 + 8 i of the warp's */
            float higher = most[i], other = higher; /* two chains */
            UNROLL
            for (int e = 0; e < 2 * KEYS; e++) {
                const float *const s = &score[e / 2][i / 2][e % 2][i % 2 * 2];
                higher = LARGER(s[0], higher);
                other = LARGER(s[1], other);
            }
            higher = LARGER(other, higher);
            UNROLL
            for (int reach = 1; reach < 4; reach *= 2) {
                TEAM_SWAP(other, higher, reach);
                higher = LARGER(other, higher);
            }
            const float less = EXP2((most[i] - higher) * FACTOR);
            most[i] = higher;
            sum[i] *= less;
            UNROLL
            for (int e = 0; e < 4 * COLUMNS; e++)
                acc[e / 4][i / 2][e / 2 % 2][i % 2 * 2 + e % 2] *= less;
        }
        CP_ASYNC_WAIT(STAGES == 1 ? 0 : 2 * STAGES - 2);
        BARRIER();
#if STAGES == 1
        if (t + 1 < tiles) {
            FILL_K(t + 1)
        }
        cp_async_commit();
#endif
        UNROLL
        for (int j = 0; j < KEYS; j++) {
            u32 weights[MT][4];
            UNROLL
            for (int i = 0; i < 2 * MT; i++) {
                float w[4];
                UNROLL
                for (int e = 0; e < 4; e++)
                    w[e] = WEIGHT_OF(score[j][i / 2][e / 2][i % 2 * 2 + e % 2], most[i]);
                sum[i] += (w[0] + w[1]) + (w[2] + w[3]);
                UNROLL
                for (int h = 0; h < 2; h++)
                    weights[i / 2][h * 2 + i % 2] = PAIR(w[2 * h], w[2 * h + 1]);
            }
            UNROLL
            for (int c = 0; c < COLUMNS; c++) {
                u32 b[2][2];
                load_columns(b[0], tile + K_BYTES, V_PITCH, v_at, 16 * j, c);
                MMA_TILE(MMA, MT, 2, acc[c], weights, b);
            }
        }
    }
    CP_ASYNC_WAIT(0);
    out += (i64)head * ROWS * DV;
    UNROLL
    for (int i = 0; i < 2 * MT; i++) {
        const int r = row0 + warp_row + lane / 4 + 8 * i;
        float other;
        UNROLL
        for (int reach = 1; reach < 4; reach *= 2) {
            TEAM_SWAP(other, sum[i], reach);
            sum[i] += other;
        }
        const float share = ZEROS && sum[i] == 0 ? 0 : 1 / sum[i];
        UNROLL
        for (int c = 0; c < COLUMNS;
             c += 2) { /* 16 bytes of four fragments' columns a thread */
            quad_words x;
            UNROLL
            for (int w = 0; w < 4; w++)
                x.v[w] =
                    c + w / 2 < COLUMNS
                        ? PAIR(acc[MIN(c + w / 2, COLUMNS - 1)][i / 2][w % 2][i % 2 * 2] *
                                   share,
                               acc[MIN(c + w / 2, COLUMNS - 1)][i / 2][w % 2][i % 2 * 2 + 1] *
                                   share)
                        : 0;
            quad_turn(x.v);
            const int column = 16 * c + lane % 4 * 8;
            if (r < ROWS && column < DV)
                STORE_VECTOR((GLOBAL quad_words *)(out + r * DV + column), x);
        }
    }
}
