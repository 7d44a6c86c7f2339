/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_matmul on CPUs. TVM's rows keep TVM's plevels; the blocked GEMM stands between the
 * plain template and a named library.
 */
#include "kernels/batch_matmul/batch_matmul.h"

static bool dim(const optune_call *call, const char *name, optune_dim *value)
{
    const optune_tensor *x = &call->input[BATCH_MATMUL_X].type;
    const int k = optune_call_int(call, "transpose_a") ? 1 : 2;
    if (strcmp(name, "b") == 0)
        *value = call->output[0].dim[0];
    else if (strcmp(name, "m") == 0)
        *value = call->output[0].dim[1];
    else if (strcmp(name, "n") == 0)
        *value = call->output[0].dim[2];
    else if (strcmp(name, "k") == 0)
        *value = x->dim[k];
    else
        return false;
    return true;
}

static const optune_strategy_row rows[] = {
    {.impl = "batch_matmul.x86", .plevel = 10},
    {.impl = "batch_matmul_gemm.cpu", .plevel = 12},
    {.impl = "batch_matmul_cblas.x86", .plevel = 15},
    {.impl = NULL},
};

OPTUNE_STRATEGY(batch_matmul, cpu) = {
    .op = "batch_matmul",
    .key = "cpu",
    .rows = rows,
    .dim = dim,
};
