/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul on targets without a strategy of their own: the generated forms, for anything
 * that compiles C.
 */
#include "kernels/matmul/batch_matmul.h"

static const optune_strategy_row rows[] = {
    {.impl = "batch_matmul.x86", .plevel = 10, .condition = matmul_on_cpu},
    {.impl = "batch_matmul_gemm.cpu", .plevel = 12, .condition = matmul_on_cpu},
    {.impl = NULL},
};

OPTUNE_STRATEGY(matmul, batch_generic) = {
    .op = "batch_matmul",
    .key = "generic",
    .rows = rows,
};
