/* SPDX-License-Identifier: Apache-2.0 */
/* dense_nbits on targets without a strategy of their own: for anything that compiles C. */
#include "kernels/nbits/nbits.h"

static const optune_strategy_row rows[] = {
    {.impl = "dense_nbits_gemm.cpu", .condition = matmul_on_cpu},
    {0},
};

OPTUNE_STRATEGY(nbits, generic) = {.op = "dense_nbits", .key = "generic", .rows = rows};
