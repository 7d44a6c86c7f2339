/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_add.cpu, quantized_multiply.cpu. Macros from the plan: those of pair.h, A_T and B_T,
 * ELEMENTS, SHARE (of a thread), FACTOR (of pair.h).
 *
 * The one idea: a product with 1 / SCALE is within 2^-12 of the quotient where that is not cut off,
 * so that both round to the same whole number unless it lies that near to the middle of two. Where
 * all pairs of integers do by one factor (FACTOR, else 0) nothing is asked.
 */
#include "kernels/quantized/round.kernel.h"

#define NEAR (0.5f - 0.000244140625f)

typedef A_T side_a __attribute__((vector_size(VEC_BYTES / 4), aligned(1), may_alias));
typedef B_T side_b __attribute__((vector_size(VEC_BYTES / 4), aligned(1), may_alias));

/* VLEN bytes as numbers; an instruction, as compilers make many of this. */
#if (VEC_BYTES == 32 && defined(__AVX2__)) || (VEC_BYTES == 64 && defined(__AVX512F__))
#define WIDE(w, T, V, from)                                                                    \
    do {                                                                                       \
        if ((T)-1 < 0)                                                                         \
            __asm__("vpmovsxbd %1, %0" : "=v"(w) : "m"(*(const V *)(from)));                   \
        else                                                                                   \
            __asm__("vpmovzxbd %1, %0" : "=v"(w) : "m"(*(const V *)(from)));                   \
    } while (0)
#else
#define WIDE(w, T, V, from)                                                                    \
    for (int l = 0; l < VLEN; l++)                                                             \
    (w)[l] = (from)[l]
#endif

INLINE int any(whole32 w)
{
#if VEC_BYTES == 64 && defined(__AVX512F__)
    unsigned short some;
    __asm__("vptestmd %1, %1, %0" : "=Yk"(some) : "v"(w));
    return some != 0;
#else
    i32 some = 0;
    for (int l = 0; l < VLEN; l++)
        some |= w[l];
    return some != 0;
#endif
}

/* a * b + c, rounded once. */
INLINE singles fused(singles a, singles b, singles c)
{
#if defined(__FMA__) && (VEC_BYTES <= 32 || defined(__AVX512F__))
    __asm__("vfmadd213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));
#else
    for (int l = 0; l < VLEN; l++)
        a[l] = __builtin_fmaf(a[l], b[l], c[l]);
#endif
    return a;
}

INLINE singles real(whole32 w)
{
    return __builtin_convertvector(w, singles);
}

/* What is over SCALE, rounded as that quotient is. */
INLINE singles quotient(singles all)
{
    if (FACTOR != 0)
        return all * FACTOR;
    const singles steps = round_limited(all * INVERSE);
    const singles whole = steps + ROUND_BY;
    const singles off = steps - (whole - ROUND_BY);
    return UNLIKELY(any((off > NEAR) | (off < -NEAR))) ? all / SCALE : steps;
}

INLINE singles steps_of(const A_T *a, const B_T *b)
{
    const singles none = {0};
    whole32 x = {0}, y = {0};
    WIDE(x, A_T, side_a, a);
    WIDE(y, B_T, side_b, b);
    if (MERGED && IS_PRODUCT)
        return real((x - (A_ZERO)) * (y - (B_ZERO))) * A_SCALE + SHIFT;
    if (MERGED)
        return fused(real(x), A_SCALE - none, fused(real(y), B_SCALE - none, SHIFT - none));
    const singles of_a = real(x - (A_ZERO)) * A_SCALE, of_b = real(y - (B_ZERO)) * B_SCALE;
    return quotient(IS_PRODUCT ? of_a * of_b : of_a + of_b);
}

INLINE void some(const A_T *a, const B_T *b, BYTE_T *out)
{
    round_put(out, steps_of(a, b), VLEN);
}

/* arg: a, b, out */
void pair(void *const *arg)
{
    const A_T *a = arg[0];
    const B_T *b = arg[1];
    BYTE_T *out = arg[2];
    PARALLEL_FOR
    for (i64 from = 0; from < ELEMENTS; from += SHARE) {
        const i64 end = MIN(from + SHARE, (i64)ELEMENTS);
        i64 i = from;
#ifdef ROUND_FOUR
        for (; i + 4 * VLEN <= end; i += 4 * VLEN) {
            singles v[4];
            UNROLL(4)
            for (int q = 0; q < 4; q++)
                v[q] = steps_of(a + i + q * VLEN, b + i + q * VLEN);
            round_put_four(out + i, 0, v, 1, 1, 4 * VLEN);
        }
#endif
        for (; i + VLEN <= end; i += VLEN)
            some(a + i, b + i, out + i);
        if (i < end) {
            A_T last_a[VLEN] = {0};
            B_T last_b[VLEN] = {0};
            BYTE_T last[VLEN];
            for (i64 l = 0; i + l < end; l++) {
                last_a[l] = a[i + l];
                last_b[l] = b[i + l];
            }
            some(last_a, last_b, last);
            for (i64 l = 0; i + l < end; l++)
                out[i + l] = last[l];
        }
    }
}
