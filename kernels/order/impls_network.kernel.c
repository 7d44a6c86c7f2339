/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many short lines at once: each is a lane, and a sorting network orders all lanes together.
 * The network is Batcher's merge exchange (Knuth, The Art of Computer Programming 5.2.2,
 * algorithm M), which is right for every N. Macros beside kernels/order/keys.kernel.h: VECTORS
 * (vectors of lanes together).
 */
#include "kernels/order/keys.kernel.h"

#define LANES ((int)(VECTORS * VEC_BYTES / sizeof(item)))
#define LINES ((i64)OUTER * INNER)
#define BEGIN(l) ((l) / INNER * N * INNER + (l) % INNER)
/* Lanes that are neighbours in memory are read and written as vectors. */
#define SIDE_BY_SIDE (INNER % LANES == 0)

INLINE void exchange(item *restrict low, item *restrict high)
{
    for (int l = 0; l < LANES; l++) {
        const item x = low[l], y = high[l];
        low[l] = MIN(x, y);
        high[l] = MAX(x, y);
    }
}

INLINE void network(item *x)
{
    int top = 1;
    while (top * 2 < N)
        top *= 2;
    for (int p = top; p > 0; p /= 2) {
        int q = top, r = 0, d = p;
        for (;;) {
            /* Runs of p neighbours with bit p as in r. */
            for (int i = r; i < N - d; i += 2 * p)
                for (int j = i; j < MIN(i + p, N - d); j++)
                    exchange(x + j * LANES, x + (j + d) * LANES);
            if (q == p)
                break;
            d = q - p;
            q /= 2;
            r = p;
        }
    }
}

/* arg: data, outputs, scratch: N rows of lanes for every thread */
void order(void *const *arg)
{
    const SRC *data = ARG_DATA;
    SRC *values = ARG_VALUES;
    INDEX *indices = ARG_INDICES;
    PARALLEL_FOR
    for (i64 first = 0; first < LINES; first += LANES) {
        item *x = (item *)(ARG_SCRATCH + THREAD * (i64)N * VECTORS * VEC_BYTES);
        i64 begin[LANES], to[LANES];
        const int n = (int)MIN(LANES, LINES - first);
        for (int l = 0; l < LANES; l++) {
            const i64 line = first + MIN(l, n - 1);
            begin[l] = BEGIN(line);
            to[l] = line / INNER * K * INNER + line % INNER;
        }
        if (SIDE_BY_SIDE) {
            for (i64 i = 0; i < N; i++)
                for (int l = 0; l < LANES; l++)
                    x[i * LANES + l] = item_of(data[begin[0] + i * INNER + l], i);
        } else {
            for (int l = 0; l < LANES; l++)
                for (i64 i = 0; i < N; i++)
                    x[i * LANES + l] = item_of(data[begin[l] + i * INNER], i);
        }
        network(x);
        if (SIDE_BY_SIDE) {
            for (i64 i = 0; i < K; i++)
                for (int l = 0; l < LANES; l++)
                    put_item(x[i * LANES + l], data + begin[0] + l, values, indices,
                             to[0] + i * INNER + l);
        } else {
            for (int l = 0; l < n; l++)
                for (i64 i = 0; i < K; i++)
                    put_item(x[i * LANES + l], data + begin[l], values, indices,
                             to[l] + i * INNER);
        }
    }
}
