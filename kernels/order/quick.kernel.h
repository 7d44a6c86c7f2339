/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quicksort that finishes the first `want` of n items and leaves the others behind them in any
 * order. Macros beside kernels/order/keys.kernel.h: BASE RUN (kernels/order/small.kernel.h).
 *
 * The one idea: a part is split in one pass without a branch. Vectors are compressed to the
 * left in place and to the right into other room; the left never overtakes what is read.
 */
#ifndef OPTUNE_KERNELS_SORT_QUICK_H
#define OPTUNE_KERNELS_SORT_QUICK_H

#include "kernels/order/small.kernel.h"

#if defined(__AVX512F__) && VEC_BYTES == 64 && !WIDE_ITEMS
#define COMPRESS 1
#else
#define COMPRESS 0
#endif

#if COMPRESS
INLINE u32 below_mask(ivec x, ivec pivot)
{
    return sizeof(item) == 4
               ? (u32)__builtin_ia32_ucmpd512_mask((int __attribute__((vector_size(64))))x,
                                                   (int __attribute__((vector_size(64))))pivot,
                                                   1, (unsigned short)-1)
               : (u32)__builtin_ia32_ucmpq512_mask(
                     (long long __attribute__((vector_size(64))))x,
                     (long long __attribute__((vector_size(64))))pivot, 1, (unsigned char)-1);
}

/* The lanes of a mask, moved together; what follows them is of no use. */
INLINE ivec together(ivec x, u32 mask)
{
    return sizeof(item) == 4 ? (ivec)__builtin_ia32_compresssi512_mask((words)x, (words)x,
                                                                       (unsigned short)mask)
                             : (ivec)__builtin_ia32_compressdi512_mask((quads)x, (quads)x,
                                                                       (unsigned char)mask);
}
#endif

/* Brings what is below `pivot` to the front of `a`, in order; returns how many that are. */
INLINE i64 split(item *a, item *b, i64 n, item pivot)
{
    i64 l = 0, r = 0, i = 0;
#if COMPRESS
    const ivec p = pivot - (ivec){0};
    for (; i + ILEN <= n; i += ILEN) {
        const ivec x = *(const ivecu *)(a + i);
        const u32 mask = below_mask(x, p);
        const int below = __builtin_popcount(mask);
        *(ivecu *)(a + l) = together(x, mask);
        *(ivecu *)(b + r) = together(x, ~mask);
        l += below;
        r += ILEN - below;
    }
#endif
    for (; i < n; i++) {
        const item x = a[i];
        const int below = x < pivot;
        a[l] = x;
        b[r] = x;
        l += below;
        r += !below;
    }
    __builtin_memcpy(a + l, b, (usize)r * sizeof *a);
    return l;
}

INLINE item middle(item x, item y, item z)
{
    const item low = MIN(x, y), high = MAX(x, y);
    return MAX(low, MIN(high, z));
}

INLINE item pivot_of(const item *a, i64 n)
{
    const i64 step = n / 9;
    item m[3];
    for (int k = 0; k < 3; k++)
        m[k] = middle(a[k * step], a[(k + 3) * step], a[(k + 6) * step + step / 2]);
    return middle(m[0], m[1], m[2]);
}

/* `depth` more splits, then a merge sort: no input takes quadratic time. */
static void quick(item *a, item *b, i64 n, i64 want, int depth)
{
    while (n > BASE) {
        if (depth-- == 0) {
            const item *done = merge_sort(a, b, n);
            if (done != a)
                __builtin_memcpy(a, done, (usize)n * sizeof *a);
            return;
        }
        item pivot = pivot_of(a, n);
        i64 m = split(a, b, n, pivot);
        if (m == 0) {
            /* Nothing is below it: those equal to it are in their place. */
            if (pivot == LAST_ITEM)
                return;
            m = split(a, b, n, pivot + 1);
            a += m;
            n -= m;
            want -= m;
            if (want <= 0)
                return;
            continue;
        }
        if (want > m)
            quick(a + m, b, n - m, want - m, depth);
        n = m;
        want = MIN(want, m);
    }
    base_sort(a, n);
}

INLINE int quick_depth(i64 n)
{
    int depth = 8;
    for (; n > 1; n /= 2)
        depth += 2;
    return depth;
}

#endif
