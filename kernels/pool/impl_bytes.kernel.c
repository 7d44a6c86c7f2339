/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max_pool2d_bytes.cpu: a vector is VEC_BYTES channels of one pixel; the last of a block's vectors
 * ends where the block does. Macros from the plan: those of pool_module, BYTE_T and LEAST.
 */
#include "kernels/pool/body.kernel.h"

typedef BYTE_T bytes __attribute__((vector_size(VEC_BYTES)));
typedef BYTE_T bytes_at __attribute__((vector_size(VEC_BYTES), aligned(1), may_alias));

/* An instruction, as compilers make a comparison and a choice of it. */
INLINE bytes most(bytes a, bytes b)
{
#if (VEC_BYTES <= 32 && defined(__AVX2__)) || (VEC_BYTES == 64 && defined(__AVX512BW__))
    if (LEAST < 0)
        __asm__("vpmaxsb %1, %0, %0" : "+v"(a) : "v"(b));
    else
        __asm__("vpmaxub %1, %0, %0" : "+v"(a) : "v"(b));
    return a;
#else
    const bytes over = (bytes)(a > b);
    return (a & over) | (b & ~over);
#endif
}

/* One window; its taps are those in `y` and `x`. */
INLINE void window(const BYTE_T *from, BYTE_T *to, span y, span x)
{
    for (i64 c = 0; c < BLOCK; c += VEC_BYTES) {
        const i64 at = MIN(c, (i64)BLOCK - VEC_BYTES);
        bytes all = (BYTE_T)(LEAST) - (bytes){0};
        for (i64 i = y.first; i < y.last; i++)
            for (i64 j = x.first; j < x.last; j++)
                all =
                    most(all, *(const bytes_at *)(from + (i * (DH * W) + j * DW) * BLOCK + at));
        *(bytes_at *)(to + at) = all;
    }
}

/* arg: data, out */
void pool(void *const *arg)
{
    const BYTE_T *data = arg[0];
    BYTE_T *out = arg[1];
    PARALLEL_FOR
    for (i64 row = 0; row < (i64)PLANES * OH; row++) {
        const i64 oy = row % OH;
        const span y = rows_of(oy);
        const int whole = y.last - y.first == KH;
        for (i64 ox = 0; ox < OW; ox++) {
            const BYTE_T *from =
                data + ((row / OH * H + oy * SH - PT) * W + ox * SW - PL) * (i64)BLOCK;
            BYTE_T *to = out + (row * OW + ox) * (i64)BLOCK;
            if (whole && ox >= X0 && ox < X1)
                window(from, to, (span){0, KH}, (span){0, KW});
            else
                window(from, to, y, cols_of(ox));
        }
    }
}
