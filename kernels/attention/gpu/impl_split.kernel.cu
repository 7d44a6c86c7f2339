/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_split.gpu: all ROWS queries of a head, a few, over one of SPLITS parts of its keys, KB
 * at a time, in float32. Keys and values are read once, from where they are. Teams of LANES
 * threads take a key each, whose queries they hold in registers; then weights meet in shared
 * memory and threads take columns of values, COLUMNS vectors side by side, so that slices of the
 * block take every so manieth key; their sums meet at the end. What parts leave is merged in a
 * fixed order: of each row the sums, the largest score, the sum of weights.
 *
 * Macros beside attention_define's: SPLITS KB LANES THREADS COLUMNS; KV VV elements of k and v
 * loaded at once; POOL.
 */
#include "kernels/attention/gpu/attention_gpu.kernel.h"
#include "kernels/common/team.kernel.h"

#define TEAMS (THREADS / LANES)
#define TURNS (KB / TEAMS) /* keys of a team */
#define SLICES (THREADS / COLUMNS)
#define PART (CEIL_DIV(CEIL_DIV(SKV, SPLITS), KB) * KB)
#define SUMS (CEIL_DIV(DV, 4) * 4) /* of a row of a part, in whole vectors */
#define LEFT (SUMS + 4)            /* and the largest score, the sum of weights */
#define K_VECS CEIL_DIV(D / KV, LANES)

VECTOR(in_k, IN_T, KV);
VECTOR(in_v, IN_T, VV);
VECTOR(sums, float, MIN(VV, 4));
VECTOR(four, float, 4);

#if SPLITS > 1
#define TARGET GLOBAL float *RESTRICT out
#else
#define TARGET GLOBAL IN_T *RESTRICT out
#endif

KERNEL(THREADS, 1, 1)
attention(GLOBAL const IN_T *RESTRICT q, GLOBAL const IN_T *RESTRICT k,
          GLOBAL const IN_T *RESTRICT v, TARGET MASK_PARAMETER)
{
    SHARED(pool, POOL);
    LOCAL float *const weights = (LOCAL float *)pool; /* [KB][ROWS] */
    LOCAL float *const meet = weights + KB * ROWS;    /* [TEAMS][ROWS], twice */
    LOCAL float *const room = meet + 2 * TEAMS * ROWS;
    const int lane = THREAD_X % LANES, team = THREAD_X / LANES;
    const int column = THREAD_X % COLUMNS * VV, slice = THREAD_X / COLUMNS;
    const int head = BLOCK_Y, first = BLOCK_X * PART;
    const int end = MIN(keys_of_rows(0, ROWS), first + PART);
    float query[ROWS][K_VECS * KV], acc[ROWS][VV], most[ROWS], sum[ROWS];
    k += (i64)head * SKV * D;
    v += (i64)head * SKV * DV;
    UNROLL
    for (int r = 0; r < ROWS; r++) {
        most[r] = SMALLEST;
        sum[r] = 0;
        UNROLL
        for (int c = 0; c < VV; c++)
            acc[r][c] = 0;
        UNROLL
        for (int e = 0; e < K_VECS * KV; e++) {
            const int d = (e / KV * LANES + lane) * KV + e % KV;
            query[r][e] = d < D ? IN_OF(q[((i64)head * ROWS + r) * D + d]) * SCALE_OF : 0;
        }
    }
    UNROLL_BY(1)
    for (int key0 = first; key0 < end; key0 += KB) {
        float score[TURNS][ROWS], higher[ROWS];
        in_k line[TURNS][K_VECS];
        UNROLL
        for (int i = 0; i < TURNS; i++) {
            const int key = key0 + i * TEAMS + team;
            UNROLL
            for (int e = 0; e < K_VECS; e++) {
                const int d = (e * LANES + lane) * KV;
                if (key < end && d < D)
                    line[i][e] = *(GLOBAL const in_k *)(k + key * D + d);
                else {
                    UNROLL
                    for (int c = 0; c < KV; c++)
                        line[i][e].v[c] = 0;
                }
            }
        }
        UNROLL
        for (int r = 0; r < ROWS; r++)
            higher[r] = most[r];
        UNROLL
        for (int i = 0; i < TURNS; i++) {
            const int key = key0 + i * TEAMS + team;
            UNROLL
            for (int r = 0; r < ROWS; r++) {
                score[i][r] = 0;
                UNROLL
                for (int e = 0; e < K_VECS * KV; e++)
                    score[i][r] =
                        FMA(query[r][e], IN_OF(line[i][e / KV].v[e % KV]), score[i][r]);
            }
            TEAM_SUMS(room, THREAD_X, lane, LANES, THREADS, ROWS, score[i]);
            UNROLL
            for (int r = 0; r < ROWS; r++) {
                score[i][r] = key < MIN(end, keys_of(r))
                                  ? MASKED_SCORE(score[i][r], mask_row(head, r), key)
                                  : NOTHING;
                higher[r] = LARGER(score[i][r], higher[r]);
            }
        }
        if (lane == 0) {
            UNROLL
            for (int r = 0; r < ROWS; r++)
                meet[team * ROWS + r] = higher[r];
        }
        BARRIER();
        UNROLL
        for (int r = 0; r < ROWS; r++) {
            UNROLL
            for (int i = 0; i < TEAMS; i++)
                higher[r] = LARGER(meet[i * ROWS + r], higher[r]);
            const float less = WEIGHT(most[r] - higher[r]);
            most[r] = higher[r];
            sum[r] *= less;
            UNROLL
            for (int i = 0; i < TURNS; i++) {
                const float p = WEIGHT(score[i][r] - most[r]);
                sum[r] += p;
                if (lane == 0)
                    weights[(i * TEAMS + team) * ROWS + r] = p;
            }
            UNROLL
            for (int c = 0; c < VV; c++)
                acc[r][c] *= less;
        }
        BARRIER();
        if (column < DV) {
            const int n = MIN(KB, end - key0);
            UNROLL_BY(8)
            for (int j = slice; j < n; j += SLICES) {
                const in_v x = *(GLOBAL const in_v *)(v + (key0 + j) * DV + column);
                UNROLL
                for (int r = 0; r < ROWS; r++) {
                    UNROLL
                    for (int c = 0; c < VV; c++)
                        acc[r][c] = FMA(weights[j * ROWS + r], IN_OF(x.v[c]), acc[r][c]);
                }
            }
        }
        BARRIER();
    }
    if (lane == 0) {
        UNROLL
        for (int r = 0; r < ROWS; r++)
            meet[(TEAMS + team) * ROWS + r] = sum[r];
    }
#if SPLITS > 1
    out += ((i64)head * SPLITS + BLOCK_X) * ROWS * LEFT;
#else
    out += (i64)head * ROWS * DV;
#endif
    UNROLL_BY(1)
    for (int r = 0; r < ROWS; r++) {
        UNROLL
        for (int c = 0; c < VV; c++) {
            float mine = 0;
            UNROLL
            for (int o = 0; o < ROWS; o++)
                mine = o == r ? acc[o][c] : mine;
            room[THREAD_X * VV + c] = mine;
        }
        BARRIER();
        float all = 0, highest = SMALLEST;
        UNROLL
        for (int i = 0; i < TEAMS; i++)
            all += meet[(TEAMS + i) * ROWS + r];
        UNROLL
        for (int o = 0; o < ROWS; o++)
            highest = o == r ? most[o] : highest;
        if (slice == 0 && column < DV) {
#if SPLITS > 1
            sums to[CEIL_DIV(VV, 4)];
#else
            in_v to;
#endif
            UNROLL
            for (int c = 0; c < VV; c++) {
                float x = 0;
                UNROLL
                for (int i = 0; i < SLICES; i++)
                    x += room[(i * COLUMNS + THREAD_X) * VV + c];
#if SPLITS > 1
                to[c / MIN(VV, 4)].v[c % MIN(VV, 4)] = x;
#else
                to.v[c] = OUT_TO(ZEROS && all == 0 ? 0.0f : x / all);
#endif
            }
#if SPLITS > 1
            UNROLL
            for (int c = 0; c < VV; c += MIN(VV, 4))
                STORE_VECTOR((GLOBAL sums *)(out + r * LEFT + column + c), to[c / MIN(VV, 4)]);
#else
            STORE_VECTOR((GLOBAL in_v *)(out + r * DV + column), to);
#endif
        }
#if SPLITS > 1
        if (THREAD_X == 0) {
            const four two = {{highest, all, 0, 0}};
            STORE_VECTOR((GLOBAL four *)(out + r * LEFT + SUMS), two);
        }
#endif
        BARRIER();
    }
}

#if SPLITS > 1
enum { MERGE_THREADS = 128 };

KERNEL(MERGE_THREADS, 1, 1)
merge(GLOBAL const float *RESTRICT left, GLOBAL IN_T *RESTRICT out)
{
    const i64 at = (i64)BLOCK_X * MERGE_THREADS + THREAD_X;
    const int c = at % DV, r = at / DV % ROWS;
    float most = SMALLEST, sum = 0, all = 0;
    if (at >= (i64)HEADS * ROWS * DV)
        return;
    left += (at / DV / ROWS * (SPLITS * ROWS) + r) * LEFT;
    UNROLL_BY(8)
    for (int s = 0; s < SPLITS; s++)
        most = LARGER(left[s * (ROWS * LEFT) + SUMS], most);
    UNROLL_BY(8)
    for (int s = 0; s < SPLITS; s++) {
        const float share = WEIGHT(left[s * (ROWS * LEFT) + SUMS] - most);
        sum = FMA(share, left[s * (ROWS * LEFT) + SUMS + 1], sum);
        all = FMA(share, left[s * (ROWS * LEFT) + c], all);
    }
    out[at] = OUT_TO(ZEROS && sum == 0 ? 0.0f : all / sum);
}
#endif
