/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul on CPUs. TVM's rows keep TVM's plevels; the blocked GEMM stands between the
 * plain template and a named library.
 */
#include "kernels/matmul/batch_matmul.h"

static const optune_strategy_row rows[] = {
    {.impl = "batch_matmul.x86", .plevel = 10},
    {.impl = "batch_matmul_gemm.cpu", .plevel = 12},
    {.impl = "batch_matmul_amx.x86", .plevel = 14},
    {.impl = "batch_matmul_cblas.x86", .plevel = 15},
    {.impl = NULL},
};

OPTUNE_STRATEGY(matmul, batch_cpu) = {
    .op = "batch_matmul",
    .key = "cpu",
    .rows = rows,
    .dim = batch_matmul_dim,
};
