/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordering what is already items: a merge sort for any number, and for a few dozen two sorts
 * without branches to guess wrong: one counts for each item how many are below it, one is a
 * bitonic network in registers (Batcher 1968). Macros
 * beside kernels/order/keys.kernel.h: BASE (the most that the counting sort is asked for), RUN
 * (what the merge sort begins with).
 */
#ifndef OPTUNE_KERNELS_SORT_SMALL_H
#define OPTUNE_KERNELS_SORT_SMALL_H

#include "kernels/order/keys.kernel.h"

INLINE void insertion_sort(item *a, i64 n)
{
    for (i64 i = 1; i < n; i++) {
        const item x = a[i];
        i64 j = i;
        for (; j > 0 && x < a[j - 1]; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* Two sorted runs to one; the first wins ties. */
INLINE void merge(const item *a, i64 n, const item *b, i64 m, item *to)
{
    i64 i = 0, j = 0;
    while (i < n && j < m) {
        const int second = b[j] < a[i];
        to[i + j] = second ? b[j] : a[i];
        i += !second;
        j += second;
    }
    for (; i < n; i++)
        to[i + j] = a[i];
    for (; j < m; j++)
        to[i + j] = b[j];
}

/* Bottom up; returns `a` or `b`, whichever holds the result. */
static item *merge_sort(item *a, item *b, i64 n)
{
    for (i64 i = 0; i < n; i += RUN)
        insertion_sort(a + i, MIN(RUN, n - i));
    for (i64 size = RUN; size < n; size *= 2) {
        for (i64 i = 0; i < n; i += 2 * size) {
            const i64 first = MIN(size, n - i), second = MIN(size, n - i - first);
            merge(a + i, first, a + i + first, second, b + i);
        }
        item *const swap = a;
        a = b;
        b = swap;
    }
    return a;
}

#if WIDE_ITEMS
INLINE void base_sort(item *a, i64 n)
{
    insertion_sort(a, n);
}
#else
typedef item ivec __attribute__((vector_size(VEC_BYTES)));
typedef item ivecu __attribute__((vector_size(VEC_BYTES), aligned(sizeof(item)), may_alias));
#define ILEN ((int)(VEC_BYTES / sizeof(item)))

/* Each goes to the place that the number of those below it says. */
INLINE void counting_sort(item *a, i64 n)
{
    item x[BASE + VEC_BYTES / sizeof(item)], rank[BASE + VEC_BYTES / sizeof(item)];
    for (i64 i = 0; i < n; i++)
        x[i] = a[i];
    for (i64 v = 0; v < n; v += ILEN) {
        const ivec own = *(const ivecu *)(x + v);
        ivec below = {0};
        /* Equal keys without an index keep their order: those in front count. */
        if (INDICES) {
            for (i64 j = 0; j < n; j++)
                below -= (ivec)(x[j] < own);
        } else {
            const i64 end = MIN(v + ILEN, n);
            ivec lane = {0};
            for (int k = 0; k < ILEN; k++)
                lane[k] = v + k;
            for (i64 j = 0; j < v; j++)
                below -= (ivec)(x[j] <= own);
            for (i64 j = v; j < end; j++)
                below -= (ivec)((x[j] < own) | ((x[j] == own) & ((item)j < lane)));
            for (i64 j = end; j < n; j++)
                below -= (ivec)(x[j] < own);
        }
        *(ivecu *)(rank + v) = below;
    }
    for (i64 i = 0; i < n; i++)
        a[rank[i]] = x[i];
}

#if defined(__AVX512F__) && VEC_BYTES == 64
typedef int words __attribute__((vector_size(64)));
typedef long long quads __attribute__((vector_size(64)));

INLINE ivec lower(ivec x, ivec y)
{
    return sizeof(item) == 4
               ? (ivec)__builtin_ia32_pminud512_mask((words)x, (words)y, (words)x, -1)
               : (ivec)__builtin_ia32_pminuq512_mask((quads)x, (quads)y, (quads)x, -1);
}

INLINE ivec upper(ivec x, ivec y)
{
    return sizeof(item) == 4
               ? (ivec)__builtin_ia32_pmaxud512_mask((words)x, (words)y, (words)x, -1)
               : (ivec)__builtin_ia32_pmaxuq512_mask((quads)x, (quads)y, (quads)x, -1);
}

/* One step of a bitonic sort of n vectors: items `step` apart are exchanged, upwards in runs of
 * `size`, downwards in the runs between. */
INLINE void bitonic_step(ivec *x, const int n, const int size, const int step)
{
    UNROLL(8)
    for (int v = 0; v < n; v++) {
        const int far = step / ILEN;
        if (far) {
            if (v & far)
                continue;
            const ivec low = lower(x[v], x[v | far]), high = upper(x[v], x[v | far]);
            const int up = !(v * ILEN & size);
            x[v] = up ? low : high;
            x[v | far] = up ? high : low;
            continue;
        }
        ivec other, pick;
        UNROLL(64)
        for (int l = 0; l < ILEN; l++) {
            const int at = v * ILEN + l;
            other[l] = l ^ step;
            pick[l] = !(at & step) == !(at & size) ? l : ILEN + l;
        }
        const ivec y = __builtin_shuffle(x[v], other);
        x[v] = __builtin_shuffle(lower(x[v], y), upper(x[v], y), pick);
    }
}

/* The first `count` lanes, LAST_ITEM in the others, and back. */
INLINE u32 first_lanes(i64 count)
{
    return count <= 0 ? 0 : count >= ILEN ? (1u << ILEN) - 1 : (1u << count) - 1;
}

INLINE ivec load_first(const item *p, u32 mask)
{
    const ivec rest = LAST_ITEM - (ivec){0};
    return sizeof(item) == 4
               ? (ivec)__builtin_ia32_loaddqusi512_mask((const int *)p, (words)rest, mask)
               : (ivec)__builtin_ia32_loaddqudi512_mask((const long long *)p, (quads)rest,
                                                        mask);
}

INLINE void store_first(item *p, ivec x, u32 mask)
{
    if (sizeof(item) == 4)
        __builtin_ia32_storedqusi512_mask((int *)p, (words)x, mask);
    else
        __builtin_ia32_storedqudi512_mask((long long *)p, (quads)x, mask);
}

/* Written out: constants that the compiler would not find behind loops of doubling counters. */
#define STEP(size, step)                                                                       \
    do {                                                                                       \
        if (step < size && size <= n * ILEN)                                                   \
            bitonic_step(x, n, size, step);                                                    \
    } while (0)
#define SIZE(size)                                                                             \
    do {                                                                                       \
        STEP(size, 64);                                                                        \
        STEP(size, 32);                                                                        \
        STEP(size, 16);                                                                        \
        STEP(size, 8);                                                                         \
        STEP(size, 4);                                                                         \
        STEP(size, 2);                                                                         \
        STEP(size, 1);                                                                         \
    } while (0)

INLINE void bitonic_sort(item *a, i64 count, const int n)
{
    ivec x[8];
    UNROLL(8)
    for (int v = 0; v < n; v++)
        x[v] = load_first(a + v * ILEN, first_lanes(count - v * ILEN));
    SIZE(2);
    SIZE(4);
    SIZE(8);
    SIZE(16);
    SIZE(32);
    SIZE(64);
    SIZE(128);
    UNROLL(8)
    for (int v = 0; v < n; v++)
        store_first(a + v * ILEN, x[v], first_lanes(count - v * ILEN));
}
#undef SIZE
#undef STEP

/* At most BASE items: in registers as far as they go. */
static void base_sort(item *a, i64 n)
{
    if (n <= ILEN)
        bitonic_sort(a, n, 1);
    else if (n <= 2 * ILEN)
        bitonic_sort(a, n, 2);
    else if (n <= 4 * ILEN)
        bitonic_sort(a, n, 4);
    else if (BASE <= 8 * ILEN && n <= 8 * ILEN)
        bitonic_sort(a, n, 8);
    else
        counting_sort(a, n);
}
#else
/* At most BASE items. */
INLINE void base_sort(item *a, i64 n)
{
    counting_sort(a, n);
}
#endif
#endif

#endif
