/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk_lanes.cpu: many lines at once, each a lane, for small K: the best K of every lane stay
 * in registers and each element is inserted without a branch. Macros beside
 * kernels/order/keys.kernel.h: VECTORS (of lanes together), TEST (whether a step that improves
 * no lane is skipped).
 */
#include "kernels/order/key_vectors.kernel.h"

enum { PIECE = 128 }; /* elements of a line that are brought beside those of others at once */
#define LANES (VECTORS * KLEN)
#define LINES ((i64)OUTER * INNER)
#define BEGIN(l) ((l) / INNER * N * INNER + (l) % INNER)
#define SIDE_BY_SIDE (INNER % LANES == 0)

typedef struct best {
    kvec k[K], i[K];
} best;

/* x (of index i) goes in front of the first that it is below, of `n` in order, and the others
 * move up by one: into the place behind them while there are fewer than K, else the last is
 * lost. What is equal stays in front. */
INLINE void insert(best *b, const kvec x, const kvec i, const int n)
{
    kvec less[K + 1]; /* than the one before; as they are in order, also where others move */
    less[0] = (kvec){0};
    UNROLL(32)
    for (int j = 0; j < n; j++)
        less[j + 1] = (kvec)(x < b->k[j]);
    UNROLL(32)
    for (int j = n < K ? n : K - 1; j >= 0; j--) {
        const kvec move = less[j], here = j < n ? less[j + 1] : ~(kvec){0};
        const int from = j ? j - 1 : 0;
        const kvec k = (b->k[from] & move) | (x & ~move);
        const kvec index = (b->i[from] & move) | (i & ~move);
        b->k[j] = (k & here) | (b->k[j] & ~here);
        if (INDICES)
            b->i[j] = (index & here) | (b->i[j] & ~here);
    }
}

INLINE void step(best b[VECTORS], const kvec x[VECTORS], i64 at, const int n)
{
    UNROLL(8)
    for (int v = 0; v < VECTORS; v++)
        if (!TEST || n < K || below(x[v], b[v].k[K - 1]))
            insert(&b[v], x[v], (key)at - (kvec){0}, n);
}

/* arg: data, outputs */
void order(void *const *arg)
{
    const SRC *data = ARG_DATA;
    SRC *values = ARG_VALUES;
    INDEX *indices = ARG_INDICES;
    PARALLEL_FOR
    for (i64 first = 0; first < LINES; first += LANES) {
        const int n = (int)MIN(LANES, LINES - first);
        i64 begin[LANES];
        key piece[SIDE_BY_SIDE ? 1 : PIECE][LANES] __attribute__((aligned(64)));
        best b[VECTORS];
        for (int l = 0; l < LANES; l++)
            begin[l] = BEGIN(first + MIN(l, n - 1));
        for (i64 from = 0; from < N; from += PIECE) {
            const i64 to = MIN(from + PIECE, N);
            if (!SIDE_BY_SIDE)
                for (int l = 0; l < LANES; l++)
                    for (i64 i = from; i < to; i++)
                        piece[i - from][l] = key_of(data[begin[l] + i * INNER]);
            kvec x[VECTORS];
#define NEXT(i)                                                                                \
    UNROLL(8)                                                                                  \
    for (int v = 0; v < VECTORS; v++)                                                          \
        x[v] = SIDE_BY_SIDE ? load_elements(data + begin[0] + (i)*INNER + v * KLEN)            \
                            : load_keys(piece[(i)-from] + v * KLEN);
            i64 i = from;
            if (from == 0) {
                UNROLL(32)
                for (int j = 0; j < K; j++) {
                    NEXT(j)
                    step(b, x, j, j);
                }
                i = K;
            }
            for (; i < to; i++) {
                NEXT(i)
                step(b, x, i, K);
            }
        }
        for (int j = 0; j < K; j++)
            for (int l = 0; l < n; l++) {
                const i64 line = first + l;
                const i64 to = line / INNER * K * INNER + line % INNER + j * INNER;
                const i64 index = (i64)b[l / KLEN].i[j][l % KLEN];
                if (INDICES)
                    indices[to] = (INDEX)index;
                if (VALUES)
                    values[to] = INDICES ? data[begin[l] + index * INNER]
                                         : value_of(b[l / KLEN].k[j][l % KLEN]);
            }
    }
}
