/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_add.gpu, quantized_multiply.gpu: EACH vectors of 16 elements a thread, a block's width
 * apart. Macros: those of pair.h, A_SIGNED B_SIGNED, ELEMENTS THREADS EACH INDEX.
 *
 * The one idea, as of quantized_add.cpu: a product with INVERSE is within 2^-12 of the quotient
 * where that is not cut off, so that both round to the same whole number unless it lies that near
 * to the middle of two.
 */
#include "kernels/quantized/gpu/round_gpu.kernel.h"
#include "kernels/quantized/pair.kernel.h"

#define NEAR (0.5f - 0.000244140625f)
#define VECTORS CEIL_DIV(ELEMENTS, 16)

/* 2^23 with a byte in the low bits is that plus the byte. One with a sign has 128 added. */
#define BIG 8388608.0f
#define LESS(is_signed, zero) (BIG + ((zero) + ((is_signed) ? 128 : 0)))
INLINE float big_of(u32 w, const int i)
{
#ifdef OT_OPENCL
    return FLOAT_OF_BITS(0x4b000000 | (w >> 8 * i & 0xff));
#else
    return FLOAT_OF_BITS(__byte_perm(w, 0x4b000000, 0x7540 | i));
#endif
}

/* undivided() of byte i of each. */
INLINE float of_bytes(u32 a, u32 b, const int i)
{
    const float big_a = big_of(a, i), big_b = big_of(b, i);
    return undivided(big_a - LESS(A_SIGNED, 0), big_b - LESS(B_SIGNED, 0),
                     big_a - LESS(A_SIGNED, A_ZERO), big_b - LESS(B_SIGNED, B_ZERO));
}

INLINE u32 of_words(u32 a, u32 b)
{
    float v[4];
    int near = 0;
    a ^= A_SIGNED ? 0x80808080u : 0;
    b ^= B_SIGNED ? 0x80808080u : 0;
    UNROLL
    for (int i = 0; i < 4; i++) {
        const float all = of_bytes(a, b, i);
        v[i] = round_limited(MERGED ? all : all * INVERSE);
        const float off = v[i] - ((v[i] + ROUND_BY) - ROUND_BY);
        near |= !MERGED && fabs(off) > NEAR;
    }
    if (near) {
        UNROLL
        for (int i = 0; i < 4; i++)
            v[i] = round_limited(quotient(of_bytes(a, b, i)));
    }
    return low_bytes(round_whole(v[0]), round_whole(v[1]), round_whole(v[2]),
                     round_whole(v[3]));
}

/* A vector, of which behind the end there is nothing. */
INLINE words_4 fetch(GLOBAL const unsigned char *from, INDEX at)
{
    words_4 x = {{0, 0, 0, 0}};
    if (ELEMENTS % 16 == 0 || at + 16 <= ELEMENTS)
        return *(GLOBAL const words_4 *)(from + at);
    for (int i = 0; at + i < ELEMENTS; i++)
        x.v[i / 4] |= (u32)from[at + i] << i % 4 * 8;
    return x;
}

KERNEL(THREADS, 1, 1)
pair(GLOBAL const unsigned char *RESTRICT a, GLOBAL const unsigned char *RESTRICT b,
     GLOBAL unsigned char *RESTRICT out)
{
    const INDEX first = (INDEX)BLOCK_X * (EACH * THREADS) + THREAD_X;
    words_4 x[EACH], y[EACH];
    UNROLL
    for (int e = 0; e < EACH; e++)
        if (first + e * THREADS < VECTORS) {
            x[e] = fetch(a, (first + e * THREADS) * 16);
            y[e] = fetch(b, (first + e * THREADS) * 16);
        }
    UNROLL
    for (int e = 0; e < EACH; e++) {
        const INDEX at = (first + e * THREADS) * 16;
        if (first + e * THREADS < VECTORS) {
            words_4 all;
            UNROLL
            for (int i = 0; i < 4; i++)
                all.v[i] = of_words(x[e].v[i], y[e].v[i]);
            if (ELEMENTS % 16 == 0 || at + 16 <= ELEMENTS) {
                STORE_VECTOR((GLOBAL words_4 *)(out + at), all);
            } else {
                for (int i = 0; at + i < ELEMENTS; i++)
                    out[at + i] = (unsigned char)(all.v[i / 4] >> i % 4 * 8);
            }
        }
    }
}
