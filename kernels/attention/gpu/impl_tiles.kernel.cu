/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_tiles.gpu: a block computes TQ rows of one head in an online softmax over tiles of TK
 * keys, in float32. A thread has TM rows and takes part in two products: scores (queries by keys,
 * along D) and outputs (weights by values, along keys), with the same rows in both, so that what
 * sums shrink by is in its registers. Keys come in pieces of DC of depth, turned on their way;
 * values in pieces of DC keys; the next piece travels through registers while one is used. Only
 * the largest scores of a row meet in shared memory, and the sums of weights at the very end.
 *
 * Tiles under causal masks that nobody sees are not visited, and the longest blocks come first.
 * Macros beside attention_define's: TQ TK TM TX (threads along columns) DC; KV VV elements of
 * k and v loaded at once, VN VC columns of the output of a thread, and in a vector; POOL.
 */
#include "kernels/attention/gpu/attention_gpu.kernel.h"

#define TY (TQ / TM)
#define THREADS (TX * TY)
#define KN (TK / TX) /* keys of a thread, in vectors of KC */
#define KC MIN(KN, 4)
#define MC MIN(TM, 4)
#define DEPTHS CEIL_DIV(D, DC) /* pieces of keys in a tile; of values */
#define PIECES (TK / DC)
#define DVP (VN * TX)

/* Depth first, with room between groups, so that what threads turn falls on different banks. */
#define ROWS_AT(k) ((k)*TQ + (k) / 4 * 4)
#define K_SKEW MAX(4, 32 * KV / DC)
#define K_AT(k) ((k)*TK + (k) / KV * K_SKEW)
#define V_AT(k) ((k)*DVP)
#define PIECE MAX(K_AT(DC), V_AT(DC))

VECTOR(in_k, IN_T, KV);
VECTOR(in_v, IN_T, VV);
VECTOR(out_v, IN_T, VC);
VECTOR(some_m, float, MC);
VECTOR(some_k, float, KC);
VECTOR(some_v, float, VC);

/* Vectors of a piece that one thread takes, and whether it takes its i-th. */
#define K_VECS CEIL_DIV(DC / KV * TK, THREADS)
#define V_VECS CEIL_DIV(DC *(DVP / VV), THREADS)
#define MINE(i, all) ((all) % THREADS == 0 || THREAD_X + (i)*THREADS < (all))

INLINE void fetch_k(in_k *next, GLOBAL const IN_T *k, int key, int depth)
{
    UNROLL
    for (int i = 0; i < K_VECS; i++) {
        const int e = THREAD_X + i * THREADS, at = key + e / (DC / KV),
                  d = depth + e % (DC / KV) * KV;
        if (MINE(i, DC / KV * TK) && at < SKV && d < D)
            next[i] = *(GLOBAL const in_k *)(k + at * D + d);
        else {
            UNROLL
            for (int c = 0; c < KV; c++)
                next[i].v[c] = 0;
        }
    }
}

INLINE void store_k(LOCAL float *piece, const in_k *next)
{
    UNROLL
    for (int i = 0; i < K_VECS; i++) {
        const int e = THREAD_X + i * THREADS;
        if (MINE(i, DC / KV * TK)) {
            UNROLL
            for (int c = 0; c < KV; c++)
                piece[K_AT(e % (DC / KV) * KV + c) + e / (DC / KV)] = IN_OF(next[i].v[c]);
        }
    }
}

INLINE void fetch_v(in_v *next, GLOBAL const IN_T *v, int key)
{
    UNROLL
    for (int i = 0; i < V_VECS; i++) {
        const int e = THREAD_X + i * THREADS, at = key + e / (DVP / VV),
                  c0 = e % (DVP / VV) * VV;
        if (MINE(i, DC * (DVP / VV)) && at < SKV && c0 < DV)
            next[i] = *(GLOBAL const in_v *)(v + at * DV + c0);
        else {
            UNROLL
            for (int c = 0; c < VV; c++)
                next[i].v[c] = 0;
        }
    }
}

INLINE void store_v(LOCAL float *piece, const in_v *next)
{
    UNROLL
    for (int i = 0; i < V_VECS; i++) {
        const int e = THREAD_X + i * THREADS;
        if (MINE(i, DC * (DVP / VV))) {
            UNROLL
            for (int c = 0; c < VV; c++)
                piece[V_AT(e / (DVP / VV)) + e % (DVP / VV) * VV + c] = IN_OF(next[i].v[c]);
        }
    }
}

/* sums[TM][n] += DC steps: a's rows of this thread by columns in vectors of `type`. */
#define MULTIPLY(sums, n, type, width, a, b, B_AT)                                             \
    UNROLL                                                                                     \
    for (int d = 0; d < DC; d++) {                                                             \
        float ra[TM], rb[n];                                                                   \
        UNROLL                                                                                 \
        for (int i = 0; i < TM; i += MC) {                                                     \
            const some_m x = *(LOCAL const some_m *)((a) + ROWS_AT(d) + ty * TM + i);          \
            UNROLL                                                                             \
            for (int c = 0; c < MC; c++)                                                       \
                ra[i + c] = x.v[c];                                                            \
        }                                                                                      \
        UNROLL                                                                                 \
        for (int j = 0; j < (n); j += (width)) {                                               \
            const type x = *(LOCAL const type *)((b) + B_AT(d) + tx * (width) + j * TX);       \
            UNROLL                                                                             \
            for (int c = 0; c < (width); c++)                                                  \
                rb[j + c] = x.v[c];                                                            \
        }                                                                                      \
        UNROLL                                                                                 \
        for (int i = 0; i < TM; i++) {                                                         \
            UNROLL                                                                             \
            for (int j = 0; j < (n); j++)                                                      \
                sums[i][j] = FMA(ra[i], rb[j], sums[i][j]);                                    \
        }                                                                                      \
    }

/* most[TM] or sum[TM] of every thread become those of their whole rows. */
#define MEET(x, OP)                                                                            \
    UNROLL                                                                                     \
    for (int i = 0; i < TM; i++)                                                               \
        meet[(ty * TM + i) * TX + tx] = x[i];                                                  \
    BARRIER();                                                                                 \
    UNROLL                                                                                     \
    for (int i = 0; i < TM; i++) {                                                             \
        UNROLL                                                                                 \
        for (int j = 0; j < TX; j++)                                                           \
            x[i] = j == 0 ? meet[(ty * TM + i) * TX] : OP(meet[(ty * TM + i) * TX + j], x[i]); \
    }
#define PLUS(a, b) ((a) + (b))

KERNEL(THREADS, 1, 1)
attention(GLOBAL const IN_T *RESTRICT q, GLOBAL const IN_T *RESTRICT k,
          GLOBAL const IN_T *RESTRICT v, GLOBAL IN_T *RESTRICT out MASK_PARAMETER)
{
    SHARED(pool, POOL);
    LOCAL float *const queries = (LOCAL float *)pool;
    LOCAL float *const weights = queries + ROWS_AT(DEPTHS * DC);
    LOCAL float *const meet = weights + ROWS_AT(TK);
    LOCAL float *const piece = meet + TQ * TX;
    const int tx = THREAD_X % TX, ty = THREAD_X / TX;
    const int head = BLOCK_Y, row0 = (CEIL_DIV(ROWS, TQ) - 1 - BLOCK_X) * TQ;
    const int end = keys_of_rows(row0, TQ);
    in_k next_k[K_VECS];
    in_v next_v[V_VECS];
    float acc[TM][VN], most[TM], sum[TM];
    q += ((i64)head * ROWS + row0) * D;
    k += (i64)head * SKV * D;
    v += (i64)head * SKV * DV;
    out += ((i64)head * ROWS + row0) * DV;
    UNROLL
    for (int i = 0; i < TM; i++) {
        most[i] = START;
        sum[i] = 0;
        UNROLL
        for (int j = 0; j < VN; j++)
            acc[i][j] = 0;
    }
    for (int e = THREAD_X; e < TQ * DEPTHS * DC; e += THREADS) {
        const int r = e / (DEPTHS * DC), d = e % (DEPTHS * DC);
        queries[ROWS_AT(d) + r] = row0 + r < ROWS && d < D ? IN_OF(q[r * D + d]) : 0.0f;
    }
    fetch_k(next_k, k, 0, 0);
    store_k(piece, next_k);
    BARRIER();
    int at = 0; /* the piece in use */
    UNROLL_BY(1)
    for (int key = 0; key < end; key += TK) {
        float score[TM][KN], higher[TM];
        UNROLL
        for (int i = 0; i < TM; i++) {
            UNROLL
            for (int j = 0; j < KN; j++)
                score[i][j] = 0;
        }
        UNROLL_BY(1)
        for (int c = 0; c < DEPTHS; c++) {
            if (c + 1 < DEPTHS)
                fetch_k(next_k, k, key, (c + 1) * DC);
            else
                fetch_v(next_v, v, key);
            MULTIPLY(score, KN, some_k, KC, queries + ROWS_AT(c * DC), piece + at * PIECE, K_AT)
            at ^= 1;
            if (c + 1 < DEPTHS)
                store_k(piece + at * PIECE, next_k);
            else
                store_v(piece + at * PIECE, next_v);
            BARRIER();
        }
        UNROLL
        for (int i = 0; i < TM; i++) {
            const int r = MIN(row0 + ty * TM + i, ROWS - 1), sees = keys_of(r);
            const i64 row = mask_row(head, r);
            higher[i] = most[i];
            UNROLL
            for (int j = 0; j < KN; j++) {
                const int mine = key + tx * KC + j / KC * KC * TX + j % KC;
                const float x = EARLY(score[i][j]);
                score[i][j] = ALL_SEEN || mine < sees ? MASKED_SCORE(x, row, mine) : NOTHING;
                higher[i] = LARGER(score[i][j], higher[i]);
            }
        }
        MEET(higher, LARGER)
        UNROLL
        for (int i = 0; i < TM; i++) {
            const float less = EXP2((most[i] - higher[i]) * FACTOR);
            most[i] = higher[i];
            sum[i] *= less;
            UNROLL
            for (int j = 0; j < KN; j++) {
                score[i][j] = WEIGHT_OF(score[i][j], most[i]);
                sum[i] += score[i][j];
            }
            UNROLL
            for (int j = 0; j < VN; j++)
                acc[i][j] *= less;
        }
        UNROLL
        for (int j = 0; j < KN; j++) {
            UNROLL
            for (int i = 0; i < TM; i += MC) {
                some_m x;
                UNROLL
                for (int c = 0; c < MC; c++)
                    x.v[c] = score[i + c][j];
                *(LOCAL some_m *)(weights + ROWS_AT(tx * KC + j / KC * KC * TX + j % KC) +
                                  ty * TM + i) = x;
            }
        }
        BARRIER();
        UNROLL_BY(1)
        for (int c = 0; c < PIECES; c++) {
            const bool last = c + 1 == PIECES, more = !last || key + TK < end;
            if (!last)
                fetch_v(next_v, v, key + (c + 1) * DC);
            else if (more)
                fetch_k(next_k, k, key + TK, 0);
            MULTIPLY(acc, VN, some_v, VC, weights + ROWS_AT(c * DC), piece + at * PIECE, V_AT)
            at ^= 1;
            if (!last)
                store_v(piece + at * PIECE, next_v);
            else if (more)
                store_k(piece + at * PIECE, next_k);
            BARRIER();
        }
    }
    MEET(sum, PLUS)
    UNROLL
    for (int i = 0; i < TM; i++) {
        const int r = ty * TM + i;
        const float share = ZEROS && sum[i] == 0 ? 0 : 1 / sum[i];
        UNROLL
        for (int j = 0; j < VN; j += VC) {
            const int c0 = tx * VC + j * TX;
            out_v x;
            UNROLL
            for (int c = 0; c < VC; c++)
                x.v[c] = OUT_TO(acc[i][j + c] * share);
            if (row0 + r < ROWS && DV % VC == 0 && c0 < DV)
                STORE_VECTOR((GLOBAL out_v *)(out + r * DV + c0), x);
            UNROLL
            for (int c = 0; c < VC; c++)
                if (row0 + r < ROWS && DV % VC && c0 + c < DV)
                    out[r * DV + c0 + c] = x.v[c];
        }
    }
}
