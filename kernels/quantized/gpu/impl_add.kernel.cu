/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_add.gpu: EACH vectors of 16 elements a thread, a block's width apart. Macros: those of
 * add.h, INVERSE (1 / SCALE, rounded), A_SIGNED B_SIGNED, ELEMENTS THREADS EACH INDEX.
 *
 * The one idea, as of quantized_add.cpu: a product with INVERSE is within 2^-12 of the quotient
 * where that is not cut off, so that both round to the same whole number unless it lies that near
 * to the middle of two.
 */
#include "kernels/quantized/gpu/round_gpu.kernel.h"
#include "kernels/quantized/quotient.kernel.h"

#define NEAR (0.5f - 0.000244140625f)
#define VECTORS CEIL_DIV(ELEMENTS, 16)
#define NUMBER(is_signed, w, i) ((is_signed) ? BYTE_SIGNED(w, i) : BYTE_PLAIN(w, i))

/* The low byte is the sum's. */
INLINE u32 sum_of(int a, int b)
{
    /* Products by themselves: nothing makes one operation of these and the sum. */
    const float sum =
        FMA((float)(a - (A_ZERO)), A_SCALE, 0.0f) + FMA((float)(b - (B_ZERO)), B_SCALE, 0.0f);
    float v = round_limited(sum * INVERSE);
    const float off = v - ((v + ROUND_BY) - ROUND_BY);
    if (off > NEAR || off < -NEAR)
        v = round_limited(quotient(sum));
    return round_whole(v);
}

INLINE u32 four_sums(u32 a, u32 b)
{
    u32 s[4];
    UNROLL
    for (int i = 0; i < 4; i++)
        s[i] = sum_of(NUMBER(A_SIGNED, a, i), NUMBER(B_SIGNED, b, i));
    return low_bytes(s[0], s[1], s[2], s[3]);
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
add(GLOBAL const unsigned char *RESTRICT a, GLOBAL const unsigned char *RESTRICT b,
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
            words_4 sums;
            UNROLL
            for (int i = 0; i < 4; i++)
                sums.v[i] = four_sums(x[e].v[i], y[e].v[i]);
            if (ELEMENTS % 16 == 0 || at + 16 <= ELEMENTS) {
                STORE_VECTOR((GLOBAL words_4 *)(out + at), sums);
            } else {
                for (int i = 0; at + i < ELEMENTS; i++)
                    out[at + i] = (unsigned char)(sums.v[i / 4] >> i % 4 * 8);
            }
        }
    }
}
