/* SPDX-License-Identifier: Apache-2.0 */
/* batch_matmul, generic: an item is an element of the output; a batch of 1 serves all. */
#include "kernels/common/generic_body.kernel.h"

typedef struct product {
    i64 b, m, n, k, x_batch, y_batch;
} product;

INLINE product product_of(const generic_call *c)
{
    DIMS(x, X0);
    DIMS(y, X1);
    const i64 m = x[TRANSPOSE_A ? 2 : 1], k = x[TRANSPOSE_A ? 1 : 2];
    const i64 n = y[TRANSPOSE_B ? 1 : 2];
    const i64 batches = x[0] == 1 ? y[0] : x[0]; /* of which there may be none */
    const product p = {batches, m, n, k, x[0] == 1 ? 0 : m * k, y[0] == 1 ? 0 : n * k};
    return p;
}

INLINE i64 items(const generic_call *c)
{
    const product p = product_of(c);
    return p.b * p.m * p.n;
}

INLINE void some(const generic_call *c, i64 first, i64 last)
{
    const product p = product_of(c);
    for (; first < last; first++) {
        const i64 j = first % p.n, i = first / p.n % p.m, b = first / p.n / p.m;
        const i64 x = b * p.x_batch + (TRANSPOSE_A ? i : i * p.k);
        const i64 y = b * p.y_batch + (TRANSPOSE_B ? j * p.k : j);
        ACC sum = 0;
        for (i64 k = 0; k < p.k; k++)
            sum += (ACC)READ(0, x + k * (TRANSPOSE_A ? p.m : 1)) *
                   (ACC)READ(1, y + k * (TRANSPOSE_B ? 1 : p.n));
        WRITE(0, first, sum);
    }
}

GENERIC_ENTRY
