/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk_filter.cpu: lines are read once and compared, vector by vector, with the last of the
 * best K so far; what is better joins a buffer, and a full buffer is cut to its best K. Macros
 * beside kernels/order/keys.kernel.h: CAPACITY (items of the buffer), VECTORS (compared before
 * a branch), BLOCK (neighbouring lines of a strided axis taken together), BASE RUN
 * (kernels/order/small.kernel.h).
 *
 * Of random elements about K log(N / K) ever join, so the line is all that costs. An element
 * that equals the last of the best came later and stays out: ties go to the lowest index.
 *
 * Scratch of a thread: keys of BLOCK lines (where INNER > 1), two buffers.
 */
#include "kernels/order/quick.kernel.h"
#include "kernels/order/key_vectors.kernel.h"

#define STRIDED (INNER > 1)
#define STEP ((i64)VECTORS * KLEN)
#define KEYS_BYTES (STRIDED ? ((i64)N * (i64)sizeof(key) + 63) / 64 * 64 : 0)
#define BUFFER_BYTES (((i64)CAPACITY * (i64)sizeof(item) + 64 + 63) / 64 * 64)
#define THREAD_BYTES (BLOCK * KEYS_BYTES + 2 * BUFFER_BYTES)
#define GROUPS CEIL_DIV((i64)INNER, BLOCK)

#if STRIDED
typedef key element; /* lines were taken as keys */
#define LOAD load_keys
#define KEY_AT(p) (*(p))
#else
typedef SRC element;
#define LOAD load_elements
#define KEY_AT(p) key_of(*(p))
#endif

INLINE item join(key k, i64 index)
{
#if INDICES
    return (item)k << KEY_SHIFT | (item)index;
#else
    return k;
#endif
}

/* The best K of the buffer's n, in order; returns the last one's key. */
INLINE key cut(item *a, item *b, i64 n)
{
    quick(a, b, n, K, quick_depth(n));
    return (key)(a[K - 1] >> KEY_SHIFT);
}

/* Leaves the line's best K in order at `a`. */
static void best(const element *line, item *a, item *b)
{
    i64 n = MIN(CAPACITY, N), i = n;
    for (i64 j = 0; j < n; j++)
        a[j] = join(KEY_AT(line + j), j);
    key limit = cut(a, b, n);
    n = K;
    for (; i + STEP <= N; i += STEP) {
        u32 better[VECTORS], some = 0;
        UNROLL(16)
        for (int v = 0; v < VECTORS; v++) {
            better[v] = below(LOAD(line + i + v * KLEN), limit - (kvec){0});
            some |= better[v];
        }
        if (__builtin_expect(!some, 1))
            continue;
        if (n + STEP > CAPACITY) {
            limit = cut(a, b, n);
            n = K;
        }
        UNROLL(16)
        for (int v = 0; v < VECTORS; v++)
            for (u32 m = better[v]; m;) {
                const int lane = __builtin_ctz(m) / BELOW_STEP;
                const i64 at = i + v * KLEN + lane;
                m &= ~(((1u << BELOW_STEP) - 1) << lane * BELOW_STEP);
                a[n++] = join(KEY_AT(line + at), at);
            }
    }
    for (; i < N; i++) {
        if (n == CAPACITY) {
            limit = cut(a, b, n);
            n = K;
        }
        const key k = KEY_AT(line + i);
        a[n] = join(k, i);
        n += k < limit;
    }
    if (n > K)
        cut(a, b, n);
}

/* arg: data, outputs, scratch */
void order(void *const *arg)
{
    const SRC *data = ARG_DATA;
    SRC *values = ARG_VALUES;
    INDEX *indices = ARG_INDICES;
    PARALLEL_FOR
    for (i64 task = 0; task < OUTER * GROUPS; task++) {
        char *own = ARG_SCRATCH + THREAD * THREAD_BYTES;
        item *a = (item *)(own + BLOCK * KEYS_BYTES);
        item *b = (item *)(own + BLOCK * KEYS_BYTES + BUFFER_BYTES);
        const i64 o = task / GROUPS, c = task % GROUPS * BLOCK;
        const SRC *from = data + o * N * INNER + c;
        const int lines = (int)MIN(BLOCK, INNER - c);
        if (STRIDED)
            for (i64 i = 0; i < N; i++)
                for (int l = 0; l < lines; l++)
                    ((key *)(own + l * KEYS_BYTES))[i] = key_of(from[i * INNER + l]);
        for (int l = 0; l < lines; l++) {
            best(STRIDED ? (const element *)(own + l * KEYS_BYTES) : (const element *)from, a,
                 b);
            const i64 to = o * K * INNER + c + l;
            for (i64 i = 0; i < K; i++)
                put_item(a[i], from + l, values, indices, to + i * INNER);
        }
    }
}
