/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU bodies that order things: what is compared, and pieces in shared memory. Keys and items
 * are those of kernels/order/keys.kernel.h, with its macros from the plan; data is read as the
 * bits that it is, of STORED_BITS. Those of 16-bit floats (HALF: of float16) are the upper half of
 * what becomes a key, as they are of float32's. PIECE, a power of two, items are sorted by TEAM
 * threads.
 */
#ifndef OPTUNE_KERNELS_SORT_KEYS_GPU_H
#define OPTUNE_KERNELS_SORT_KEYS_GPU_H

#include "kernels/common/gpu.kernel.h"

#if BITS == 32
typedef u32 bits;
#define INFINITE (HALF ? 0x7C000000u : 0x7F800000u)
#else
typedef u64 bits;
#define INFINITE 0x7FF0000000000000u
#endif
#define SIGN ((bits)1 << (BITS - 1))
#define LINES ((i64)OUTER * INNER)

/* Elements as they lie in memory. */
#if STORED_BITS == 16
typedef u16 stored;
#define LOADED(b) ((bits)(b) << 16)
#define STORED(b) ((stored)((b) >> 16))
#else
typedef bits stored;
#define LOADED(b) (b)
#define STORED(b) (b)
#endif

/* An item orders by key, then by index where indices are wanted. */
#if !INDICES
typedef bits item;
#define LESS(a, b) ((a) < (b))
#define KEY(x) (x)
#define INDEX_OF(x) 0
#elif BITS == 32
typedef u64 item;
#define LESS(a, b) ((a) < (b))
#define KEY(x) ((bits)((x) >> 32))
#define INDEX_OF(x) ((i64)((x)&0xFFFFFFFFu))
#else
typedef struct ALIGNED(16) item {
    u64 key, index;
} item;
#define LESS(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).index < (b).index))
#define KEY(x) ((x).key)
#define INDEX_OF(x) ((i64)(x).index)
#endif

INLINE item item_from(bits key, u64 index)
{
#if !INDICES
    return key;
#elif BITS == 32
    return (u64)key << 32 | index;
#else
    item x;
    x.key = key;
    x.index = index;
    return x;
#endif
}

/* Behind everything: what pads a piece. */
INLINE item last_item(void)
{
    return item_from(~(bits)0, BITS == 32 ? 0xFFFFFFFFu : ~(u64)0);
}

INLINE bits key_of(bits b)
{
#if FLOATING
    if (INDICES && b == SIGN)
        b = 0;
    if (DESCEND)
        b ^= SIGN;
    if ((b & ~SIGN) > INFINITE)
        return ~(bits)0;
    return b & SIGN ? ~b : b | SIGN;
#else
    return b ^ (DESCEND ? ~SIGN : SIGN);
#endif
}

INLINE bits value_of(bits b)
{
#if FLOATING
    b = b & SIGN ? b ^ SIGN : ~b;
    return DESCEND ? b ^ SIGN : b;
#else
    return b ^ (DESCEND ? ~SIGN : SIGN);
#endif
}

/* Where a line begins; `n` elements to a line. */
INLINE i64 line_at(i64 line, i64 n)
{
    return line / INNER * (n * INNER) + line % INNER;
}

INLINE item item_at(GLOBAL const stored *RESTRICT data, i64 lines, i64 line, i64 i)
{
    if (line >= lines || i >= N)
        return last_item();
    return item_from(key_of(LOADED(data[line_at(line, N) + i * INNER])), (u64)i);
}

#if VALUES && INDICES
#define OUTPUTS , GLOBAL stored *RESTRICT values, GLOBAL INDEX *RESTRICT indices
#elif VALUES
#define OUTPUTS , GLOBAL stored *RESTRICT values
#else
#define OUTPUTS , GLOBAL INDEX *RESTRICT indices
#endif

/* Item `x` as result i of its line. */
#if VALUES && INDICES
#define PUT(x, line, i)                                                                        \
    do {                                                                                       \
        const i64 ot_to = line_at(line, K) + (i)*INNER, ot_index = INDEX_OF(x);                \
        values[ot_to] = data[line_at(line, N) + ot_index * INNER];                             \
        indices[ot_to] = (INDEX)ot_index;                                                      \
    } while (0)
#elif VALUES
#define PUT(x, line, i) values[line_at(line, K) + (i)*INNER] = STORED(value_of(KEY(x)))
#else
#define PUT(x, line, i) indices[line_at(line, K) + (i)*INNER] = (INDEX)INDEX_OF(x)
#endif

/* Sorts the `n` items at `s`, a power of two, with `team` threads; all threads of the block come
 * here. */
INLINE void bitonic_of(LOCAL item *s, const int n, const int team, int lane)
{
    BARRIER();
    UNROLL_BY(1)
    for (int size = 2; size <= n; size *= 2) {
        UNROLL_BY(1)
        for (int step = size / 2; step > 0; step /= 2) {
            for (int t = lane; t < n / 2; t += team) {
                const int i = 2 * t - (t & (step - 1)), j = i + step;
                const item a = s[i], b = s[j];
                if (LESS(b, a) == ((i & size) == 0)) {
                    s[i] = b;
                    s[j] = a;
                }
            }
            BARRIER();
        }
    }
}
#define bitonic(s, lane) bitonic_of(s, PIECE, TEAM, lane)

#endif
