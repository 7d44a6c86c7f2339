/* SPDX-License-Identifier: Apache-2.0 */
/* A table of what every output column counts, for means whose windows count differently. */
#ifndef OPTUNE_KERNELS_POOL_SHARES_H
#define OPTUNE_KERNELS_POOL_SHARES_H

#include "kernels/pool/body.kernel.h"

/* arg: shares. 1 / counted columns of every output column, zeros up to a whole vector. */
void count_columns(void *const *arg)
{
    DTYPE *shares = arg[0];
    for (i64 x = 0; x < (i64)CEIL_DIV(OW, VLEN) * VLEN; x++)
        shares[x] = x < OW ? share_of(1, counted_cols(x)) : 0;
}

#endif
