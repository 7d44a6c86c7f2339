/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all bodies of scans share. Macros from the plan: IN and DTYPE (element types; integers
 * that accumulate are unsigned, so that they wrap), OUTER N INNER (the tensor around its axis),
 * PRODUCT, EXCLUSIVE, STREAM (outputs bypass the caches).
 */
#ifndef OPTUNE_KERNELS_SCAN_BODY_H
#define OPTUNE_KERNELS_SCAN_BODY_H

#include "kernels/common/cpu.kernel.h"

#if PRODUCT
#define OP(a, b) ((a) * (b))
#else
#define OP(a, b) ((a) + (b))
#endif
#define NEUTRAL ((DTYPE)PRODUCT)

typedef IN invec
    __attribute__((vector_size(sizeof(IN) * VLEN), aligned(sizeof(IN)), may_alias));

INLINE vec load_in(const IN *p)
{
    return __builtin_convertvector(*(const invec *)p, vec);
}

/* Addresses of streaming stores are multiples of a vector. */
INLINE void put(DTYPE *p, vec v)
{
#if STREAM && defined(__SSE2__)
    typedef long long quads __attribute__((vector_size(VEC_BYTES)));
#if VEC_BYTES == 64
    __builtin_ia32_movntdq512((quads *)p, (quads)v);
#elif VEC_BYTES == 32
    __builtin_ia32_movntdq256((quads *)p, (quads)v);
#else
    __builtin_ia32_movntdq((quads *)p, (quads)v);
#endif
#else
    store(p, v);
#endif
}

/* Streaming stores are ordered before whatever the caller does next. */
INLINE void put_end(void)
{
#if STREAM && defined(__SSE2__)
    __builtin_ia32_sfence();
#endif
}

/* Elements in front of the first whole vector that streaming stores can write. */
INLINE i64 put_skip(const DTYPE *p, i64 n)
{
    const i64 skip = STREAM ? (i64)(-(uptr)p % VEC_BYTES / sizeof(DTYPE)) : 0;
    return MIN(skip, n);
}

/* One element after `carry`; returns the carry after it. */
INLINE DTYPE one(const IN *in, DTYPE *out, DTYPE carry)
{
    const DTYPE next = OP(carry, (DTYPE)*in);
    *out = EXCLUSIVE ? carry : next;
    return next;
}

#endif
