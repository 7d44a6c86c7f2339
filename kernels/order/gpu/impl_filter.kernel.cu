/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The K best of long contiguous lines, which are read once: PARTS of a line, a block for each. Of
 * its first batch a thread's best is taken; the K-th of these is not better than the K-th of all,
 * so what is behind it is passed over from there on. What is not goes to ROOM places in shared
 * memory, in any order; whenever they are nearly full they are sorted, K stay, and the limit is
 * the last of them. Items differ from each other, or nobody can tell them apart, so the result
 * does not depend on who came first. What parts keep is filtered alike by a block for each line.
 *
 * Macros beside those of kernels/order/gpu/keys_gpu.kernel.h: THREADS, EACH (elements of a batch
 * in a thread), V (of them side by side), PARTS, ROOM (a power of two, at least K + THREADS),
 * LEAD_PARAMETERS (dims in front of the axis that are known at run time).
 */
#define PIECE ROOM
#define TEAM THREADS
#include "kernels/order/gpu/keys_gpu.kernel.h"
#include "kernels/common/counter_gpu.kernel.h"

#define BATCH (THREADS * EACH)

VECTOR(vec_bits, bits, V);

/* The least item behind x. */
INLINE item behind(item x)
{
    if (!LESS(x, last_item()))
        return x;
#if INDICES && BITS == 64
    x.index++;
    return x;
#else
    return x + 1;
#endif
}

/* Where `full`, the best K of the first `items` stay, sorted, with what pads them; returns the
 * limit. No barrier is in a branch: a sort of one item is none. */
INLINE item cut(LOCAL item *s, LOCAL int *count, const bool full, const int items, item limit,
                int t)
{
    for (int i = items + t; full && i < ROOM; i += THREADS)
        s[i] = last_item();
    bitonic_of(s, full ? ROOM : 1, THREADS, t);
    const item last = s[K - 1];
    if (full && t == 0)
        *count = K;
    BARRIER();
    return full && LESS(last, limit) ? last : limit;
}

/* One item of each thread, where there is room for all of them; there is when it returns. */
INLINE item admit(LOCAL item *s, LOCAL int *count, item limit, item x, int t)
{
    if (LESS(x, limit))
        s[LOCAL_ADD(count, 1)] = x;
    BARRIER();
    const int items = *count;
    return cut(s, count, items + THREADS > ROOM, items, limit, t);
}

INLINE void rank(LOCAL item *s, LOCAL int *count, int t)
{
    int n = 2;
    while (n < *count || n < K)
        n *= 2;
    for (int i = *count + t; i < n; i += THREADS)
        s[i] = last_item();
    bitonic_of(s, n, THREADS, t);
}

KERNEL(THREADS, 1, 1)
filter(
#if PARTS > 1
    GLOBAL item *RESTRICT best,
#endif
    GLOBAL const bits *RESTRICT data OUTPUTS LEAD_PARAMETERS)
{
    SHARED(filter_pool, ROOM * sizeof(item) + 16);
    LOCAL item *const s = (LOCAL item *)filter_pool;
    LOCAL int *const count = (LOCAL int *)(s + ROOM);
    const int t = THREAD_X;
    const i64 line = BLOCK_X / PARTS, part = BLOCK_X % PARTS, all = (i64)OUTER * N;
    /* Vectors lie where they are aligned, as lines need not be. */
    const i64 base = line * N, skew = base % V;
    const i64 from = line < OUTER ? N * part / PARTS : 0;
    const i64 end = line < OUTER ? N * (part + 1) / PARTS : 0;
    item limit = last_item();
    if (t == 0)
        *count = 0;
    BARRIER();
    for (i64 at = (from + skew) / V * V - skew; at < end; at += BATCH) {
        const bool first = at <= from, whole = at >= from && at + BATCH <= end;
        bits b[EACH];
        UNROLL
        for (int r = 0; r < EACH / V; r++) {
            const i64 i = at + (r * THREADS + t) * V;
            vec_bits v;
            UNROLL
            for (int e = 0; e < V; e++)
                v.v[e] = 0;
            if (i < end) {
                if (base + i + V <= all) {
                    v = *(GLOBAL const vec_bits *)(data + base + i);
                } else {
                    UNROLL
                    for (int e = 0; e < V; e++)
                        if (base + i + e < all)
                            v.v[e] = data[base + i + e];
                }
            }
            UNROLL
            for (int e = 0; e < V; e++)
                b[r * V + e] = v.v[e];
        }
#define INDEX_AT(e) (at + ((e) / V * THREADS + t) * V + (e) % V)
#define ITEM(e)                                                                                \
    (whole || (INDEX_AT(e) >= from && INDEX_AT(e) < end)                                       \
         ? item_from(key_of(b[e]), (u64)INDEX_AT(e))                                           \
         : last_item())
        const int had = *count;
        item best_of = last_item();
        UNROLL
        for (int e = 0; e < EACH; e++) {
            const item x = ITEM(e);
            best_of = first && LESS(x, best_of) ? x : best_of;
        }
        if (first)
            s[t] = best_of;
        bitonic_of(s, first ? THREADS : 1, THREADS, t);
        if (first)
            limit = behind(s[K - 1]);
        BARRIER();
        u32 passed = 0;
        int mine = 0;
        UNROLL
        for (int e = 0; e < EACH; e++) {
            const bool pass = LESS(ITEM(e), limit);
            passed |= (u32)pass << e;
            mine += pass;
        }
        int place = mine > 0 ? LOCAL_ADD(count, mine) : 0;
        BARRIER();
        const int kept = *count;
        if (kept <= ROOM && passed) {
            UNROLL
            for (int e = 0; e < EACH; e++)
                if (passed >> e & 1)
                    s[place++] = ITEM(e);
        }
        BARRIER();
        /* Where not all had room, one of each thread after the other, anew from what there was. */
        const int steps = kept > ROOM ? EACH + 1 : kept > ROOM - ROOM / 4;
        UNROLL_BY(1)
        for (int e = -1; e < steps - 1; e++) {
            const i64 i = at + e * THREADS + t;
            const bool asked = e >= 0 && i >= from && i < end;
            item x = last_item();
            if (asked)
                x = item_from(key_of(data[base + i]), (u64)i);
            if (LESS(x, limit))
                s[LOCAL_ADD(count, 1)] = x;
            BARRIER();
            const int items = e >= 0 ? *count : kept > ROOM ? had : kept;
            limit = cut(s, count, e < 0 || items + THREADS > ROOM, items, limit, t);
        }
    }
    BARRIER();
    rank(s, count, t);
    if (line < OUTER)
        for (int i = t; i < K; i += THREADS)
#if PARTS > 1
            best[(i64)BLOCK_X * K + i] = s[i];
#else
            PUT(s[i], line, i);
#endif
}

#if PARTS > 1
/* The best of all parts come first. */
KERNEL(THREADS, 1, 1)
merge(GLOBAL const item *RESTRICT best, GLOBAL const bits *RESTRICT data OUTPUTS LEAD_PARAMETERS)
{
    SHARED(merge_pool, ROOM * sizeof(item) + 16);
    LOCAL item *const s = (LOCAL item *)merge_pool;
    LOCAL int *const count = (LOCAL int *)(s + ROOM);
    const int t = THREAD_X;
    const i64 line = BLOCK_X, end = line < OUTER ? (i64)PARTS * K : 0;
    item limit = last_item();
    if (t == 0)
        *count = 0;
    BARRIER();
    UNROLL_BY(1)
    for (i64 at = 0; at < end; at += THREADS) {
        const i64 i = at + t;
        const item x =
            i < end ? best[(line * PARTS + i % PARTS) * K + i / PARTS] : last_item();
        limit = admit(s, count, limit, x, t);
    }
    rank(s, count, t);
    if (line < OUTER)
        for (int i = t; i < K; i += THREADS)
            PUT(s[i], line, i);
}
#endif
