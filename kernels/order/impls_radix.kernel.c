/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines ordered by their digits, the least significant first. Macros beside
 * kernels/order/lines.kernel.h: DIGIT (bits of a digit). Digits that all keys share cost
 * nothing more than counting them. With SHARE every thread counts and moves its part of a line;
 * parts keep their order, so a pass is stable.
 *
 * MORE holds a table of counts for every pass; with SHARE, for every thread.
 */
#include "kernels/order/lines.kernel.h"

#define PASSES CEIL_DIV(BITS, DIGIT)
#define BUCKETS (1 << DIGIT)
#define DIGIT_OF(x, p) ((u32)((x) >> (KEY_SHIFT + (p)*DIGIT)) & (BUCKETS - 1))
#define PARTS (SHARE ? OT_THREADS : 1)
#define PART_BEGIN(t) ((i64)N * (t) / PARTS)

/* Counts become the places where each part's next item of a digit goes. */
INLINE void places(u32 *count)
{
    u32 sum = 0;
    for (int d = 0; d < BUCKETS; d++)
        for (int t = 0; t < PARTS; t++) {
            const u32 own = count[t * BUCKETS + d];
            count[t * BUCKETS + d] = sum;
            sum += own;
        }
}

INLINE void move(const item *a, item *b, u32 *place, i64 from, i64 to, const int p)
{
    for (i64 i = from; i < to; i++)
        b[place[DIGIT_OF(a[i], p)]++] = a[i];
}

#if SHARE
static item *arrange(item *a, item *b, void *more)
{
    u32 *count = more;
    for (int p = 0; p < PASSES; p++) {
        PARALLEL_FOR
        for (int t = 0; t < PARTS; t++) {
            u32 *own = count + t * BUCKETS;
            __builtin_memset(own, 0, BUCKETS * sizeof *own);
            for (i64 i = PART_BEGIN(t); i < PART_BEGIN(t + 1); i++)
                own[DIGIT_OF(a[i], p)]++;
        }
        places(count);
        PARALLEL_FOR
        for (int t = 0; t < PARTS; t++)
            move(a, b, count + t * BUCKETS, PART_BEGIN(t), PART_BEGIN(t + 1), p);
        item *const swap = a;
        a = b;
        b = swap;
    }
    return a;
}
#else
static item *arrange(item *a, item *b, void *more)
{
    u32(*count)[BUCKETS] = more;
    __builtin_memset(count, 0, PASSES * sizeof *count);
    for (i64 i = 0; i < N; i++) {
        UNROLL(16)
        for (int p = 0; p < PASSES; p++)
            count[p][DIGIT_OF(a[i], p)]++;
    }
    UNROLL(16)
    for (int p = 0; p < PASSES; p++) {
        if (count[p][DIGIT_OF(a[0], p)] == N)
            continue;
        places(count[p]);
        move(a, b, count[p], 0, N, p);
        item *const swap = a;
        a = b;
        b = swap;
    }
    return a;
}
#endif
