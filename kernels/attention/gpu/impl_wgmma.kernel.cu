/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_wgmma.cuda: CONSUMERS warpgroups of a block each have 64 rows of one head in an online
 * softmax over tiles of TK keys; another warpgroup copies. Sums of the first product lie in
 * registers, become weights there and then the second product's operand, rounded to the elements'
 * type, once, as the output is.
 *
 * Keys and values travel by the copy engine through a ring of STAGES tiles each: panels of 64
 * columns, rows of 128 bytes. `full` of a place waits for its bytes, `empty` for the warps that
 * read them. A warpgroup issues the scores of a tile together with the outputs of the tile before,
 * and computes weights while the latter are under way; with TURNS warpgroups issue in turn, so that
 * the tensor cores have one's products while the other computes weights.
 *
 * Blocks take tiles of rows: those of BAND heads at once, whose keys the L2 cache is to hold, the
 * longest ones first. Tiles of keys that no row of the block sees are not visited.
 *
 * Macros beside attention_define's: CONSUMERS TK STAGES TURNS BAND BLOCKS; COLUMNS, those of the
 * outputs in whole panels; TYPE (f16, bf16), PAIR (two sums as one word of them).
 * The order of products is that of Shah et al.'s FlashAttention-3 (2024).
 */
#include "kernels/attention/gpu/hide_gpu.kernel.h"
#include "kernels/common/wgmma_gpu.kernel.h"

#define TQ (64 * CONSUMERS)
#define THREADS (128 * (CONSUMERS + 1))
#define WARPS (4 * CONSUMERS)
#define STEPS CEIL_DIV(D, 16)
#define PANELS CEIL_DIV(D, 64)
#define V_PANELS (COLUMNS / 64)
#define TILES_Q CEIL_DIV(ROWS, TQ)
#define TILES (HEADS * TILES_Q)
#define Q_BYTES (128 * PANELS * TQ)
#define K_BYTES (128 * PANELS * TK)
#define V_BYTES (128 * V_PANELS * TK)
#define RINGS_BYTES (STAGES * (K_BYTES + V_BYTES))
#define BARRIERS (2 + 4 * STAGES + CONSUMERS)
#define POOL_BYTES (WARPGROUP_SLACK + Q_BYTES + RINGS_BYTES + BARRIERS * 8)

#define K_TILE(stage) (base + Q_BYTES + (stage)*K_BYTES)
#define V_TILE(stage) (base + Q_BYTES + STAGES * K_BYTES + (stage)*V_BYTES)
#define MBARRIER(i) (base + Q_BYTES + RINGS_BYTES + (i)*MBARRIER_BYTES)
#define Q_FULL MBARRIER(0)
#define Q_EMPTY MBARRIER(1)
#define K_FULL(stage) MBARRIER(2 + (stage))
#define K_EMPTY(stage) MBARRIER(2 + STAGES + (stage))
#define V_FULL(stage) MBARRIER(2 + 2 * STAGES + (stage))
#define V_EMPTY(stage) MBARRIER(2 + 3 * STAGES + (stage))
#define TURN(group) MBARRIER(2 + 4 * STAGES + (group))

#if CONSUMERS == 3
#define MORE 160
#define LESS 32
#else
#define MORE 240
#define LESS 24
#endif

typedef struct place {
    int head, row, tiles; /* of keys */
} place;

INLINE place place_of(int tile)
{
    const int band = tile / (BAND * TILES_Q), at = tile % (BAND * TILES_Q);
    const int heads = MIN(BAND, HEADS - band * BAND), turn = at / heads;
    place p;
    p.head = band * BAND + at % heads;
    if (CAUSAL && SQ % TQ == 0)
        p.row = turn % GROUP * SQ + (SQ / TQ - 1 - turn / GROUP) * TQ;
    else
        p.row = (TILES_Q - 1 - turn) * TQ;
    p.tiles = CEIL_DIV(keys_of_rows(p.row, TQ), TK);
    return p;
}

/* A block's tile of each BLOCKS, there and back: who had the longest has the shortest next. */
INLINE int tile_of(int round)
{
    return round * BLOCKS + (round % 2 ? BLOCKS - 1 - BLOCK_X : BLOCK_X);
}

/* One thread. */
#define COPY(to, map, panels, rows, row, head, barrier)                                        \
    UNROLL                                                                                     \
    for (int at = 0; at < (panels); at++)                                                      \
        copy_box_3d((to) + at * 128 * (rows), map, at * 64, row, head, barrier);
#define PRODUCE_K(t, head)                                                                     \
    {                                                                                          \
        mbarrier_wait(K_EMPTY(to_k.stage), to_k.parity ^ 1);                                   \
        mbarrier_expect(K_FULL(to_k.stage), K_BYTES);                                          \
        COPY(K_TILE(to_k.stage), k, PANELS, TK, (t)*TK, head, K_FULL(to_k.stage))              \
        ring_next(&to_k, STAGES);                                                              \
    }
#define PRODUCE_V(t, head)                                                                     \
    {                                                                                          \
        mbarrier_wait(V_EMPTY(to_v.stage), to_v.parity ^ 1);                                   \
        mbarrier_expect(V_FULL(to_v.stage), V_BYTES);                                          \
        COPY(V_TILE(to_v.stage), v, V_PANELS, TK, (t)*TK, head, V_FULL(to_v.stage))            \
        ring_next(&to_v, STAGES);                                                              \
    }

#define RELEASE(barrier)                                                                       \
    if (THREAD_X % 32 == 0)                                                                    \
        mbarrier_arrive(barrier);
#if TURNS
#define TURN_BEGIN                                                                             \
    mbarrier_wait(TURN(group), group == 0 ? turn ^ 1 : turn);                                  \
    turn ^= 1;
#define TURN_END RELEASE(TURN((group + 1) % CONSUMERS))
#else
#define TURN_BEGIN
#define TURN_END
#endif

/* Scores of a tile of keys. */
INLINE void multiply_keys(float *s, u32 q, u32 k)
{
    wgmma_fence();
    UNROLL
    for (int at = 0; at < STEPS; at++)
        WGMMA(TYPE, TK, s, rows_128(q + at / 4 * 128 * TQ + at % 4 * 32),
              rows_128(k + at / 4 * 128 * TK + at % 4 * 32), at > 0);
    wgmma_commit();
}

INLINE void multiply_values(float *acc, u32 (*weights)[4], u32 v)
{
    wgmma_fence();
    UNROLL
    for (int at = 0; at < TK / 16; at++)
        WGMMA_HELD(TYPE, COLUMNS, acc, weights[at], columns_128(v + at * 2048, 128 * TK), 1);
    wgmma_commit();
}

/* What the two rows of a thread keep. */
typedef struct line {
    int sees;
    i64 mask;
    float most, sum, less;
} line;

#define ELEMENT(h, e) ((e) / 2 * 4 + 2 * (h) + (e) % 2) /* e-th score or output of row h */

#define SCORE(two, e, h) s[4 * (two) + 2 * (h) + (e)]

/* Keys of the tile, from `key` on, that a row does not see. */
INLINE void hide(float *s, const line *rows, int key MASK_PARAMETER)
{
    UNROLL
    for (int two = 0; two < TK / 8; two++) {
        const int at = key + two * 8 + THREAD_X % 4 * 2;
        UNROLL
        for (int h = 0; h < 2; h++)
            hide_pair(s + 4 * two + 2 * h, rows[h].mask, at,
                      ALL_SEEN ? at + 2 : rows[h].sees MASK_ARGUMENT);
    }
}

/* Scores become weights; `less`: what those of earlier tiles are to be multiplied by. */
INLINE void weigh(float *s, line *rows)
{
    UNROLL
    for (int h = 0; h < 2; h++) {
        line *const r = &rows[h];
        float most = r->most, other = most; /* two chains */
        UNROLL
        for (int e = 0; e < TK / 4; e += 2) {
            most = LARGER(s[ELEMENT(h, e)], most);
            other = LARGER(s[ELEMENT(h, e + 1)], other);
        }
        most = LARGER(most, other);
        UNROLL
        for (int reach = 1; reach < 4; reach *= 2) {
            TEAM_SWAP(other, most, reach);
            most = LARGER(other, most);
        }
        r->less = EXP2((r->most - most) * FACTOR);
        r->most = most;
        r->sum *= r->less;
        UNROLL
        for (int e = 0; e < TK / 4; e++) {
            const float x = WEIGHT_OF(s[ELEMENT(h, e)], most);
            r->sum += x;
            s[ELEMENT(h, e)] = x;
        }
    }
}

INLINE void pack(u32 (*weights)[4], const float *s)
{
    UNROLL
    for (int i = 0; i < TK / 4; i++)
        weights[i / 4][i % 4] = PAIR(s[2 * i], s[2 * i + 1]);
}

#if VOTED
#define FETCH_MASKS(t) masks_fetch(masks, mask + rows[0].mask, (t)*TK);
#else
#define FETCH_MASKS(t)
#endif

#define SOFTMAX(t)                                                                             \
    {                                                                                          \
        if ((MASKED && !VOTED) || ((t) + 1) * TK > all_see)                                    \
            hide(s, rows, (t)*TK MASK_ARGUMENT);                                               \
        else if (SCALE <= 0)                                                                   \
            UNROLL for (int e = 0; e < TK / 2; e++) s[e] = EARLY(s[e]);                        \
        HIDE_VOTED(masks, 2, SCORE)                                                            \
        weigh(s, rows);                                                                        \
    }

/* Those of the next tile. A loop between the exponentials and the wait for the product also keeps
 * the compiler from moving that wait in front of them. */
#define NEXT_KEYS(t)                                                                           \
    if ((t) + 1 < p.tiles)                                                                     \
        mbarrier_wait(K_FULL(of_k.stage), of_k.parity);

KERNEL_ALONE(THREADS)
attention(TENSOR_MAP(q), TENSOR_MAP(k), TENSOR_MAP(v), GLOBAL IN_T *RESTRICT out MASK_PARAMETER)
{
    SHARED(pool, POOL_BYTES);
    const u32 base = shared_base(pool);
    const int group = warpgroup();
    if (THREAD_X == 0) {
        mbarrier_init(Q_FULL, 1);
        mbarrier_init(Q_EMPTY, WARPS);
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(K_FULL(s), 1);
            mbarrier_init(K_EMPTY(s), WARPS);
            mbarrier_init(V_FULL(s), 1);
            mbarrier_init(V_EMPTY(s), WARPS);
        }
        for (int g = 0; g < CONSUMERS; g++)
            mbarrier_init(TURN(g), 4);
        mbarriers_visible();
    }
    BARRIER();
    if (group == CONSUMERS) {
        if (CONSUMERS > 1)
            REGISTERS_LESS(LESS);
        ring to_k = {0, 0}, to_v = {0, 0};
        u32 parity = 1;
        if (THREAD_X == 128 * CONSUMERS)
            for (int round = 0; tile_of(round) < TILES; round++) {
                const place p = place_of(tile_of(round));
                if (p.tiles == 0)
                    continue;
                mbarrier_wait(Q_EMPTY, parity);
                parity ^= 1;
                mbarrier_expect(Q_FULL, Q_BYTES);
                COPY(base, q, PANELS, TQ, p.row, p.head, Q_FULL)
                PRODUCE_K(0, p.head)
                UNROLL_BY(1)
                for (int t = 1; t < p.tiles; t++) {
                    PRODUCE_K(t, p.head)
                    PRODUCE_V(t - 1, p.head)
                }
                PRODUCE_V(p.tiles - 1, p.head)
            }
    } else {
        if (CONSUMERS > 1)
            REGISTERS_MORE(MORE);
        const int warp_row = THREAD_X / 32 * 16, lane = THREAD_X % 32;
        const u32 queries = base + (u32)(group * 64 * 128);
        ring of_k = {0, 0}, of_v = {0, 0};
        u32 parity = 0;
#if TURNS
        u32 turn = 0;
#endif
        for (int round = 0; tile_of(round) < TILES; round++) {
            const place p = place_of(tile_of(round));
            const int all_see = keys_of_all(p.row + warp_row, 16);
            float acc[COLUMNS / 2];
            line rows[2];
            UNROLL
            for (int h = 0; h < 2; h++) {
                const int r = MIN(p.row + warp_row + lane / 4 + 8 * h, ROWS - 1);
                rows[h].sees = keys_of(r);
                rows[h].mask = mask_row(p.head, r);
                rows[h].most = START;
                rows[h].sum = 0;
            }
            UNROLL
            for (int e = 0; e < COLUMNS / 2; e++)
                acc[e] = 0;
            if (p.tiles > 0) {
                float s[TK / 2];
#if VOTED
                voted_mask masks[VOTES];
#endif
                u32 weights[TK / 16][4];
                FETCH_MASKS(0)
                mbarrier_wait(Q_FULL, parity);
                parity ^= 1;
                mbarrier_wait(K_FULL(of_k.stage), of_k.parity);
                TURN_BEGIN
                multiply_keys(s, queries, K_TILE(of_k.stage));
                TURN_END
                WGMMA_WAIT(0);
                wgmma_keep(s, TK);
                RELEASE(K_EMPTY(of_k.stage))
                ring_next(&of_k, STAGES);
                SOFTMAX(0)
                pack(weights, s);
                NEXT_KEYS(0)
                UNROLL_BY(1)
                for (int t = 1; t < p.tiles; t++) {
                    FETCH_MASKS(t)
                    TURN_BEGIN
                    multiply_keys(s, queries, K_TILE(of_k.stage));
                    mbarrier_wait(V_FULL(of_v.stage), of_v.parity);
                    multiply_values(acc, weights, V_TILE(of_v.stage));
                    TURN_END
                    WGMMA_WAIT(1);
                    wgmma_keep(s, TK);
                    RELEASE(K_EMPTY(of_k.stage))
                    ring_next(&of_k, STAGES);
                    SOFTMAX(t)
                    NEXT_KEYS(t)
                    WGMMA_WAIT(0);
                    wgmma_keep(acc, COLUMNS);
                    RELEASE(V_EMPTY(of_v.stage))
                    ring_next(&of_v, STAGES);
                    UNROLL
                    for (int e = 0; e < COLUMNS / 2; e++)
                        acc[e] *= rows[e / 2 % 2].less;
                    pack(weights, s);
                }
                RELEASE(Q_EMPTY)
                mbarrier_wait(V_FULL(of_v.stage), of_v.parity);
                multiply_values(acc, weights, V_TILE(of_v.stage));
                WGMMA_WAIT(0);
                wgmma_keep(acc, COLUMNS);
                RELEASE(V_EMPTY(of_v.stage))
                ring_next(&of_v, STAGES);
            }
            UNROLL
            for (int h = 0; h < 2; h++) {
                const int r = p.row + warp_row + lane / 4 + 8 * h;
                float sum = rows[h].sum, other;
                UNROLL
                for (int reach = 1; reach < 4; reach *= 2) {
                    TEAM_SWAP(other, sum, reach);
                    sum += other;
                }
                const float share = ZEROS && sum == 0 ? 0 : 1 / sum;
                UNROLL
                for (int c = 0; c < COLUMNS; c += 32) { /* 16 bytes a thread, of 8 columns */
                    quad_words x;
                    UNROLL
                    for (int w = 0; w < 4; w++) {
                        const float *const two = &acc[c / 2 + 4 * w + 2 * h];
                        x.v[w] = PAIR(two[0] * share, two[1] * share);
                    }
                    quad_turn(x.v);
                    const int column = c + lane % 4 * 8;
                    if (r < ROWS && column < DV)
                        STORE_VECTOR(
                            (GLOBAL quad_words *)(out + ((i64)p.head * ROWS + r) * DV + column),
                            x);
                }
            }
        }
    }
}
