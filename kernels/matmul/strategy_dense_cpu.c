/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense on CPUs. TVM's rows keep TVM's plevels; ours stand between them so that an untuned
 * selection prefers a named library, then the matrix-vector form where it applies, then the
 * blocked GEMM.
 */
#include "kernels/matmul/dense.h"
#include "kernels/matmul/dot.h"

/* A GEMM beats the matrix-vector form from three rows on, unless it must pack the weight
 * first. */
static bool vector_pays(const optune_task *task, char *why)
{
    const optune_dim *m = &task->call->input[DENSE_DATA].type.dim[0];
    if (m->max <= 2 || !task->call->input[DENSE_WEIGHT].is_const)
        return true;
    return optune_refuse(why,
                         "a const weight is packed once, a GEMM reads it for more than 2 rows");
}

/* Tiles of fewer rows are mostly zeros, and the weight is read for little. */
static bool tiles_pay(const optune_task *task, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    return (s.m >= 32 && s.n >= 32 && s.k >= 64 && task->call->input[DENSE_WEIGHT].is_const) ||
           optune_refuse(why,
                         "it has less than 32 rows or columns, a depth below 64, or a weight "
                         "that is split in each run");
}

/* Narrow numbers by what multiplies them as they are; others widen a weight once, and read it in
 * twice the bytes, or in each run where it is not constant. */
static bool stays_narrow(const optune_task *task, char *why)
{
    const optune_dtype in = task->call->input[DENSE_DATA].type.dtype;
    return dot_best(task, in) != dot_any(in) || dense_shape_of(task->call).m <= DENSE_FEW_ROWS ||
           !task->call->input[DENSE_WEIGHT].is_const ||
           optune_refuse(why, "this processor widens what it multiplies");
}

static bool widens(const optune_task *task, char *why)
{
    return !stays_narrow(task, why) || optune_refuse(why, "which has a row of its own");
}

static const optune_strategy_row rows[] = {
    {.impl = "dense_nopack.x86", .plevel = 5},
    {.impl = "dense_pack.x86", .plevel = 10},
    {.impl = "dense_gemm.cpu", .plevel = 11},
    {.impl = "dense_dot.cpu", .plevel = 13, .condition = stays_narrow},
    {.impl = "dense_dot.cpu", .plevel = 9, .condition = widens},
    {.impl = "dense_amx.x86", .plevel = 14},
    {.impl = "dense_split.x86", .plevel = 12, .condition = tiles_pay},
    {.impl = "dense_gemv.cpu", .plevel = 12, .when = "m <= 8", .condition = vector_pays},
    {.impl = "dense_cblas.x86", .plevel = 13},
    {.impl = NULL},
};

OPTUNE_STRATEGY(matmul,
                dense_cpu) = {.op = "dense", .key = "cpu", .rows = rows, .dim = dense_dim};
