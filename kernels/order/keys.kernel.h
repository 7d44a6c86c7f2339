/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies that order things: what is compared. Macros from the plan: SRC (element type), BITS
 * and FLOATING (of it), DESCEND, INDICES and VALUES (which outputs there are, in the order
 * values, indices), INDEX (type of an index), OUTER N INNER (the tensor around its axis), K
 * (how many of each line are wanted).
 *
 * The one idea: an element becomes an unsigned key whose order is the order asked for. NaN is
 * the largest key in both directions. Where indices are wanted, an item is a key with the index
 * below it, so that all items differ and equal keys come in the order of their indices.
 */
#ifndef OPTUNE_KERNELS_SORT_KEYS_H
#define OPTUNE_KERNELS_SORT_KEYS_H

#include "kernels/common/cpu.kernel.h"

#if BITS == 32
typedef u32 key;
typedef i32 signed_key;
#else
typedef u64 key;
typedef i64 signed_key;
#endif

#if !INDICES
typedef key item;
#elif BITS == 32
typedef u64 item;
#else
typedef unsigned __int128 item;
#endif

#define SIGN ((key)1 << (BITS - 1))
#define KEY_SHIFT ((int)(8 * sizeof(item)) - BITS) /* of the key in an item */
#define LAST_ITEM (~(item)0)
/* Vector code is for items of one lane; others take the scalar path. */
#define WIDE_ITEMS (INDICES && BITS == 64)

/* Zeros of either sign are equal where indices tell them apart; else -0.0 is below 0.0. */
#define SAME_ZEROS (FLOATING && INDICES)
#define INFINITE ((key)(BITS == 32 ? 0x7f800000 : 0x7ff0000000000000))

/* For a key and, with M(c) = all bits where c, for a vector of them. */
#define KEY_OF(b, T, S, M)                                                                     \
    do {                                                                                       \
        if (FLOATING) {                                                                        \
            if (SAME_ZEROS)                                                                    \
                b &= ~M(b == SIGN);                                                            \
            if (DESCEND)                                                                       \
                b ^= SIGN;                                                                     \
            const T nan = M((b & ~SIGN) > INFINITE);                                           \
            b = (b & ~nan) | (nan & ~SIGN);                                                    \
            b ^= (T)((S)b >> (BITS - 1)) | SIGN;                                               \
        } else {                                                                               \
            b ^= DESCEND ? ~SIGN : SIGN;                                                       \
        }                                                                                      \
    } while (0)
#define KEY_MASK(c) ((key)0 - (key)(c))

INLINE key key_of(SRC x)
{
    key b;
    __builtin_memcpy(&b, &x, sizeof b);
    KEY_OF(b, key, signed_key, KEY_MASK);
    return b;
}

INLINE SRC value_of(key b)
{
    SRC x;
    if (FLOATING) {
        b ^= KEY_MASK(b < SIGN) | SIGN;
        b ^= DESCEND ? SIGN : 0;
    } else {
        b ^= DESCEND ? ~SIGN : SIGN;
    }
    __builtin_memcpy(&x, &b, sizeof x);
    return x;
}

INLINE item item_of(SRC x, i64 index)
{
#if INDICES
    return (item)key_of(x) << KEY_SHIFT | (item)index;
#else
    return key_of(x);
#endif
}

/* Result i of a line: `data` is the line's first element, `to` counts from the outputs'. */
INLINE void put_item(item x, const SRC *data, SRC *values, INDEX *indices, i64 to)
{
#if INDICES
    const i64 index = (i64)(BITS == 32 ? (u32)x : (u64)x);
    indices[to] = (INDEX)index;
    if (VALUES)
        values[to] = data[index * INNER];
#else
    values[to] = value_of((key)x);
#endif
}

/* The arguments of every body: data, values if there are, indices if there are, scratch. */
#define ARG_DATA ((const SRC *)arg[0])
#define ARG_VALUES (VALUES ? (SRC *)arg[1] : 0)
#define ARG_INDICES (INDICES ? (INDEX *)arg[1 + VALUES] : 0)
#define ARG_SCRATCH ((char *)arg[1 + VALUES + INDICES])

#endif
