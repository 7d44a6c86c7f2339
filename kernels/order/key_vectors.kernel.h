/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of keys, made from elements where they lie. Beside kernels/order/keys.kernel.h; needs
 * nothing from the plan.
 */
#ifndef OPTUNE_KERNELS_TOPK_KEY_VECTORS_H
#define OPTUNE_KERNELS_TOPK_KEY_VECTORS_H

#include "kernels/order/keys.kernel.h"

typedef key kvec __attribute__((vector_size(VEC_BYTES)));
typedef key kvecu __attribute__((vector_size(VEC_BYTES), aligned(sizeof(key)), may_alias));
typedef signed_key signed_kvec __attribute__((vector_size(VEC_BYTES)));
#define KLEN ((int)(VEC_BYTES / sizeof(key)))

INLINE kvec load_keys(const key *p)
{
    return *(const kvecu *)p;
}

INLINE kvec load_elements(const SRC *p)
{
    kvec b = *(const kvecu *)p;
#define KVEC_MASK(c) ((kvec)(c))
    KEY_OF(b, kvec, signed_kvec, KVEC_MASK);
    return b;
}

/* Bits l * BELOW_STEP .. of the result are set where lane l of x is below that of y. */
#if defined(__AVX2__) && VEC_BYTES == 32 || defined(__SSE2__) && VEC_BYTES == 16
#define BELOW_STEP ((int)sizeof(key))
#else
#define BELOW_STEP 1
#endif
INLINE u32 below(kvec x, kvec y)
{
#if defined(__AVX512F__) && VEC_BYTES == 64
    typedef int words __attribute__((vector_size(64)));
    typedef long long quads __attribute__((vector_size(64)));
    return BITS == 32 ? (u32)__builtin_ia32_ucmpd512_mask((words)x, (words)y, 1, -1)
                      : (u32)__builtin_ia32_ucmpq512_mask((quads)x, (quads)y, 1, -1);
#elif defined(__AVX2__) && VEC_BYTES == 32
    typedef char bytes __attribute__((vector_size(32)));
    return (u32)__builtin_ia32_pmovmskb256((bytes)(x < y));
#elif defined(__SSE2__) && VEC_BYTES == 16
    typedef char bytes __attribute__((vector_size(16)));
    return (u32)__builtin_ia32_pmovmskb128((bytes)(x < y));
#else
    u32 some = 0;
    for (int l = 0; l < KLEN; l++)
        some |= (u32)(x[l] < y[l]) << l;
    return some;
#endif
}

#endif
