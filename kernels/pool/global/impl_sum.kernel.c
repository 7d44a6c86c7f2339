/* SPDX-License-Identifier: Apache-2.0 */
/*
 * global_avg_pool2d.cpu. Macros from the plan: PLANES of PIXELS of BLOCK channels, TILE planes
 * at once, VECS vectors of each in flight. With BLOCK 1 lanes are pixels and are summed at the
 * end; else lanes are channels.
 */
#define STORED_TENSORS
#include "kernels/common/exp.kernel.h"
#include "kernels/common/stored.kernel.h"

#define STEP (VECS * VLEN)
#define TAIL (PIXELS % VLEN)

INLINE vec sum_of(vec v[VECS])
{
    vec sum = v[0];
    UNROLL(8)
    for (int u = 1; u < VECS; u++)
        sum += v[u];
    return sum;
}

#if BLOCK == 1

INLINE void planes(const stored *from, stored *to, const int n)
{
    vec sum[TILE][VECS] = {0};
    i64 i = 0;
    for (; i + STEP <= PIXELS; i += STEP) {
        UNROLL(16)
        for (int p = 0; p < n; p++) {
            UNROLL(8)
            for (int u = 0; u < VECS; u++)
                sum[p][u] += stored_load(from + p * PIXELS + i + u * VLEN);
        }
    }
    for (; i + VLEN <= PIXELS; i += VLEN) {
        UNROLL(16)
        for (int p = 0; p < n; p++)
            sum[p][0] += stored_load(from + p * PIXELS + i);
    }
    UNROLL(16)
    for (int p = 0; p < n; p++) {
        const stored *end = from + (p + 1) * PIXELS;
        if (TAIL && PIXELS >= VLEN)
            sum[p][0] += vec_from(stored_load(end - VLEN), 0, VLEN - TAIL);
        else if (TAIL)
            sum[p][0] += stored_get(from + p * PIXELS, TAIL, 0);
        to[p] = stored_of(vec_sum(sum_of(sum[p])) * ((DTYPE)1 / PIXELS));
    }
}

#else

INLINE void channels(const stored *from, stored *to, const int n, const int lanes)
{
    vec sum[TILE][VECS] = {0};
    i64 i = 0;
    for (; i + VECS <= PIXELS; i += VECS) {
        UNROLL(16)
        for (int p = 0; p < n; p++) {
            UNROLL(8)
            for (int u = 0; u < VECS; u++)
                sum[p][u] += stored_get(from + (p * PIXELS + i + u) * BLOCK, lanes, 0);
        }
    }
    for (; i < PIXELS; i++) {
        UNROLL(16)
        for (int p = 0; p < n; p++)
            sum[p][0] += stored_get(from + (p * PIXELS + i) * BLOCK, lanes, 0);
    }
    UNROLL(16)
    for (int p = 0; p < n; p++)
        stored_put(to + p * BLOCK, sum_of(sum[p]) * ((DTYPE)1 / PIXELS), lanes);
}

INLINE void planes(const stored *from, stored *to, const int n)
{
    for (i64 c = 0; c + VLEN <= BLOCK; c += VLEN)
        channels(from + c, to + c, n, VLEN);
    if (BLOCK % VLEN)
        channels(from + BLOCK / VLEN * VLEN, to + BLOCK / VLEN * VLEN, n, BLOCK % VLEN);
}

#endif

/* arg: data, out */
void means(void *const *arg)
{
    const stored *data = arg[0];
    stored *out = arg[1];
    PARALLEL_FOR
    for (i64 t = 0; t < PLANES / TILE; t++)
        planes(data + t * ((i64)TILE * PIXELS * BLOCK), out + t * (TILE * BLOCK), TILE);
    const i64 done = PLANES / TILE * TILE;
    for (i64 p = done; p < PLANES; p++)
        planes(data + p * ((i64)PIXELS * BLOCK), out + p * BLOCK, 1);
}
