/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_nbits_gemv.cpu: products of a few rows of data with a weight of small integers, limited by
 * how fast these can be read.
 */
#include "kernels/nbits/nbits_cpu.h"

enum { MAX_ROWS = 16, AT_ONCE = 8 }; /* of data: beyond this unpacking once pays */

/* Rows that share the integers as floats, evenly. */
static int64_t rows_at_once(const nbits_shape *s)
{
    return host_ceil(s->m, host_ceil(s->m, AT_ONCE));
}

static bool applies(const optune_task *task, char *why)
{
    if (!nbits_cpu_applies(task, why))
        return false;
    const nbits_shape s = nbits_shape_of(task->call);
    return s.m <= MAX_ROWS ||
           optune_refuse(why, "is for at most %d rows of data, not %" PRId64, MAX_ROWS, s.m);
}

static void space(const optune_task *task, optune_space *space)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const int64_t vectors = host_ceil(s.n, matmul_lanes(task, false));
    optune_space_ints(space, "tile_n", (int)host_min(4, vectors), (int64_t[]){1, 2, 3, 4});
    optune_space_ints(space, "sums", 3, (int64_t[]){1, 2, 4});
    optune_space_ints(space, "prefetch", 5, (int64_t[]){0, 512, 1024, 2048, 4096});
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const int64_t nv = optune_config_int(config, "tile_n");
    const int64_t need = rows_at_once(&s) * nv * optune_config_int(config, "sums") + 3;
    if (need > matmul_registers(task))
        return optune_refuse(why,
                             "%" PRId64 " sums and operands do not fit %" PRId64 " registers",
                             need, matmul_registers(task));
    return matmul_packed_fits(nbits_cpu_bytes(task, &s, nv), s.n * s.row_bytes, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    /* Four chains of additions hide their latency. */
    const nbits_shape s = nbits_shape_of(task->call);
    const int64_t rows = rows_at_once(&s), nv = rows <= 4 ? 2 : 1;
    optune_config_choose_int(config, space, "tile_n", nv);
    optune_config_choose_int(config, space, "sums", rows * nv >= 4 ? 1 : 4 / (rows * nv));
    optune_config_choose_int(config, space, "prefetch", 1024);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const nbits_shape s = nbits_shape_of(task->call);
    const int64_t nv = optune_config_int(config, "tile_n");
    const int module = nbits_cpu_module(task, plan, &s, rows_at_once(&s), nv);
    optune_plan_define(plan, module, "SUMS", optune_config_int(config, "sums"));
    optune_plan_define(plan, module, "AHEAD", optune_config_int(config, "prefetch"));
    nbits_cpu_stages(task, plan, module, &s, nv, "gemv", NULL);
}

OPTUNE_IMPL(nbits, gemv) = {
    .op = "dense_nbits",
    .name = "dense_nbits_gemv.cpu",
    .summary = "few rows of data; integers become floats in registers",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "data.0",
};
