/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordering what is already items: a merge sort for any number, and for a few dozen a sort that
 * counts for each item how many are below it, which has no branches to guess wrong. Macros
 * beside kernels/sort/keys.h: BASE (the most that the counting sort is asked for), RUN (what
 * the merge sort begins with).
 */
#ifndef OPTUNE_KERNELS_SORT_SMALL_H
#define OPTUNE_KERNELS_SORT_SMALL_H

#include "kernels/sort/keys.h"

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

/* At most BASE items. */
INLINE void base_sort(item *a, i64 n)
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
#endif

#endif
