/* SPDX-License-Identifier: Apache-2.0 */
/* dense_nbits on CPUs: integers unpacked in registers for a few rows, once for many. */
#include "kernels/nbits/nbits.h"

static const optune_strategy_row rows[] = {
    {.impl = "dense_nbits_gemm.cpu", .plevel = 10},
    {.impl = "dense_nbits_gemv.cpu", .plevel = 12, .when = "m <= 16"},
    {0},
};

OPTUNE_STRATEGY(nbits,
                cpu) = {.op = "dense_nbits", .key = "cpu", .rows = rows, .dim = nbits_dim};
