/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense on targets without a strategy of their own: the plain templates, for anything that
 * compiles C.
 */
#include "kernels/matmul/dense.h"

static const optune_strategy_row rows[] = {
    {.impl = "dense_nopack.x86", .plevel = 5, .condition = matmul_on_cpu},
    {.impl = "dense_pack.x86", .plevel = 10, .condition = matmul_on_cpu},
    {.impl = NULL},
};

OPTUNE_STRATEGY(matmul, dense_generic) = {.op = "dense", .key = "generic", .rows = rows};
