/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The K best of long contiguous lines, which are read once: PARTS of a line, a block for each. Of
 * its first batch a thread's best is taken, and of each warp's as many as make K together: the last
 * of them all is not better than the K-th of the line, so what is behind it is passed over from
 * there on. What is not goes to ROOM places in shared memory, in any order; whenever more than CUT
 * of them are taken K stay, and the limit is the last of these. Items differ from each other, or
 * nobody can tell them apart, so the result does not depend on who came first. What parts keep is
 * filtered alike by a block for each line.
 *
 * Most elements are passed over by one comparison of what they are, without key and index; those
 * that it lets pass are read again, and asked in full. The next batch is loaded meanwhile.
 *
 * Macros beside those of kernels/order/gpu/keys_gpu.kernel.h: THREADS (K of them at least), EACH
 * (elements of a batch in a thread), V (of them side by side), PARTS, ROOM (a power of two, at
 * least K + THREADS), LEAD_PARAMETERS (dims in front of the axis that are known at run time).
 */
#define PIECE ROOM
#define TEAM THREADS
#include "kernels/order/gpu/keys_gpu.kernel.h"
#include "kernels/common/counter_gpu.kernel.h"
#include "kernels/common/warp_gpu.kernel.h"

#define BATCH (THREADS * EACH)
#define WARPS (THREADS / 32)
/* A thread always has room for one item more. */
#define CUT MIN(ROOM - THREADS, MAX(2 * K, 64))

VECTOR(vec_stored, stored, V);

/* Numbers elements of a line, and a batch behind it. */
#if N < 0x70000000
typedef i32 place;
#else
typedef i64 place;
#endif

/* What bits are, to be compared at once. */
#if FLOATING && BITS == 32
typedef float plain;
#define PLAIN(b) FLOAT_OF_BITS(b)
#elif FLOATING
typedef double plain;
#define PLAIN(b) DOUBLE_OF_BITS(b)
#elif BITS == 32
typedef i32 plain;
#define PLAIN(b) ((i32)(b))
#else
typedef i64 plain;
#define PLAIN(b) ((i64)(b))
#endif
/* Whether an element may be before a limit of value `bar`: of NaNs nothing is known. */
#if DESCEND
#define MAY_PASS(b, bar) (!(PLAIN(b) < (bar)))
#else
#define MAY_PASS(b, bar) (!(PLAIN(b) > (bar)))
#endif

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

/* How many of the first n items are before `mine`, which is item t of them or none. */
INLINE int rank_of(LOCAL const item *s, const int n, const item mine, int t)
{
    int rank = 0;
    UNROLL_BY(4)
    for (int i = 0; i < n; i++) {
        rank += LESS(s[i], mine);
#if !INDICES
        rank += s[i] == mine && i < t;
#endif
    }
    return rank;
}

/* The best K of the first `items` stay, sorted, with what pads them; returns the limit. All threads
 * know how many there were. */
INLINE item cut(LOCAL item *s, LOCAL int *count, const int items, item limit, int t)
{
    if (items <= 2 * THREADS) {
        const int u = t + THREADS;
        const item x = t < items ? s[t] : last_item(), y = u < items ? s[u] : last_item();
        const int x_rank = t < items ? rank_of(s, items, x, t) : t;
        const int y_rank = u < items ? rank_of(s, items, y, u) : K;
        BARRIER();
        if (x_rank < K)
            s[x_rank] = x;
        if (y_rank < K)
            s[y_rank] = y;
        if (t == 0)
            *count = K;
        BARRIER();
    } else {
        int n = 4 * THREADS;
        while (n < items)
            n *= 2;
        for (int i = items + t; i < n; i += THREADS)
            s[i] = last_item();
        if (t == 0)
            *count = K;
        bitonic_of(s, n, THREADS, t);
    }
    const item last = s[K - 1];
    return LESS(last, limit) ? last : limit;
}

/* One item of each thread; at most CUT of all are left. */
INLINE item admit(LOCAL item *s, LOCAL int *count, item limit, item x, int t)
{
    if (LESS(x, limit))
        s[LOCAL_ADD(count, 1)] = x;
    BARRIER();
    const int items = *count;
    BARRIER();
    return items > CUT ? cut(s, count, items, limit, t) : limit;
}

/* Elements of this thread of the batch at `at`. Vectors behind `last` are not: they are read as
 * that one is, and known by their place. */
INLINE void load_batch(GLOBAL const stored *RESTRICT line, place at, place last, int t,
                       vec_stored v[EACH / V])
{
    if (at + BATCH <= last) {
        UNROLL
        for (int r = 0; r < EACH / V; r++)
            v[r] = *(GLOBAL const vec_stored *)(line + at + (r * THREADS + t) * V);
    } else {
        UNROLL
        for (int r = 0; r < EACH / V; r++)
            v[r] = *(GLOBAL const vec_stored *)(line + MIN(at + (r * THREADS + t) * V, last));
    }
}
#define ELEMENT(e) LOADED(b[(e) / V].v[(e) % V])
#define PLACE_OF(e) (at + ((e) / V * THREADS + t) * V + (e) % V)

KERNEL_RESIDENT(THREADS, 1, 1, MAX(1, 1024 / THREADS))
filter(
#if PARTS > 1
    GLOBAL item *RESTRICT best,
#endif
    GLOBAL const stored *RESTRICT data OUTPUTS LEAD_PARAMETERS)
{
    SHARED(filter_pool, ROOM * sizeof(item) + 16);
    LOCAL item *const s = (LOCAL item *)filter_pool;
    LOCAL int *const count = (LOCAL int *)(s + ROOM);
    const int t = THREAD_X;
    const i64 of_line = BLOCK_X / PARTS, part = BLOCK_X % PARTS;
    if (of_line >= OUTER)
        return;
    /* Vectors lie where they are aligned, as lines need not be. */
    const i64 base = of_line * N, rest = ((i64)OUTER * N / V - 1) * V - base;
    const place skew = (place)(base % V);
    const place from = (place)(N * part / PARTS), end = (place)(N * (part + 1) / PARTS);
    /* Where the last vector is, or one that is far enough. */
    const place last = (place)MIN(rest, ((i64)N + 2 * BATCH) / V * V - skew);
    GLOBAL const stored *const line = data + base;
    place at = (from + skew) / V * V - skew;
    vec_stored b[EACH / V];
    load_batch(line, at, last, t, b);
    item limit = last_item();
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const place i = PLACE_OF(e);
        const item x = item_from(key_of(ELEMENT(e)), (u64)i);
        limit = i >= from && i < end && i < last + V && LESS(x, limit) ? x : limit;
    }
    s[t] = limit;
    if (t == 0)
        *count = 0;
    WARP_BARRIER();
    const int warp = t / 32, rank = rank_of(s + warp * 32, 32, limit, t % 32);
    BARRIER();
    /* Where too few threads have elements, it is what pads them. */
    if (t % 32 == 0)
        s[warp] = last_item();
    WARP_BARRIER();
    if (rank == CEIL_DIV(K, WARPS) - 1 && LESS(limit, last_item()))
        s[warp] = limit;
    BARRIER();
    limit = s[0];
    UNROLL
    for (int w = 1; w < WARPS; w++)
        limit = LESS(limit, s[w]) ? s[w] : limit;
    limit = behind(limit);
    BARRIER();
    int had = 0;
    UNROLL_BY(1)
    for (; at < end; at += BATCH) {
        const plain bar = PLAIN(value_of(KEY(limit)));
        u32 may = at + BATCH <= last + V ? 0 : ~(u32)0 >> (32 - EACH);
        UNROLL
        for (int e = 0; e < EACH; e++)
            may |= MAY_PASS(ELEMENT(e), bar) ? (u32)1 << e : 0;
        load_batch(line, at + BATCH, last, t, b);
        UNROLL_BY(1)
        while (may) {
            const int e = LOWEST_BIT(may);
            const place i = PLACE_OF(e);
            may &= may - 1;
            if (i >= from && i < end) {
                const item x = item_from(key_of(LOADED(line[i])), (u64)i);
                if (LESS(x, limit)) {
                    const int to = LOCAL_ADD(count, 1);
                    if (to < ROOM)
                        s[to] = x;
                }
            }
        }
        BARRIER();
        const int kept = *count;
        BARRIER();
        /* Where not all had room, one of each thread after the other, anew from what there was. */
        const bool over = kept > ROOM;
        had = over ? had : kept;
        if (over && t == 0)
            *count = had;
        UNROLL_BY(1)
        for (int e = over ? 0 : EACH - 1; e < EACH; e++) {
            if (over) {
                const place i = at + e * THREADS + t;
                BARRIER();
                if (i >= from && i < end) {
                    const item x = item_from(key_of(LOADED(line[i])), (u64)i);
                    if (LESS(x, limit))
                        s[LOCAL_ADD(count, 1)] = x;
                }
                BARRIER();
                had = *count;
                BARRIER();
            }
            if (had > CUT) {
                limit = cut(s, count, had, limit, t);
                had = K;
            }
        }
    }
    cut(s, count, had, limit, t);
    for (int i = t; i < K; i += THREADS)
#if PARTS > 1
        best[(i64)BLOCK_X * K + i] = s[i];
#else
        PUT(s[i], of_line, i);
#endif
}

#if PARTS > 1
/* As many of each part are before its limit as make K together; of these limits the last one holds
 * for all. */
#define SHARE CEIL_DIV(K, PARTS)

KERNEL(THREADS, 1, 1)
merge(GLOBAL const item *RESTRICT best, GLOBAL const stored *RESTRICT data OUTPUTS LEAD_PARAMETERS)
{
    SHARED(merge_pool, ROOM * sizeof(item) + 16);
    LOCAL item *const s = (LOCAL item *)merge_pool;
    LOCAL int *const count = (LOCAL int *)(s + ROOM);
    const int t = THREAD_X;
    const i64 line = BLOCK_X, end = (i64)PARTS * K;
    if (line >= OUTER)
        return;
    const i64 first = line * (PARTS * K);
    item limit = item_from(0, 0);
    for (int p = t; p < PARTS; p += THREADS) {
        const item x = best[first + p * K + SHARE - 1];
        limit = LESS(limit, x) ? x : limit;
    }
    s[t] = limit;
    if (t == 0)
        *count = 0;
    BARRIER();
    UNROLL_BY(8)
    for (int p = 0; p < MIN(PARTS, THREADS); p++)
        limit = LESS(limit, s[p]) ? s[p] : limit;
    BARRIER();
    limit = behind(limit);
    UNROLL_BY(1)
    for (i64 at = 0; at < end; at += THREADS) {
        const i64 i = at + t;
        limit = admit(s, count, limit, i < end ? best[first + i] : last_item(), t);
    }
    const int items = *count;
    BARRIER();
    cut(s, count, items, limit, t);
    for (int i = t; i < K; i += THREADS)
        PUT(s[i], line, i);
}
#endif
