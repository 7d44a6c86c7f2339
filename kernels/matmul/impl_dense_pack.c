/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_pack.x86: TVM's template of this name, knob for knob. tile_y and tile_x are [task,
 * block of a task, block]; the last of tile_x is the pack width. tile_inner is how many rows of
 * a block stay in registers, 1 leaves that to the plan. A tile_k of at least UNROLL_LIMIT is a
 * block of depth shared by all row groups, a smaller one is how far the innermost loop unrolls.
 */
#include "kernels/matmul/dense.h"

enum { UNROLL_LIMIT = 32 };

/* The divisor of `n` up to `limit` that wastes the fewest lanes, the largest among equals. */
static int64_t pack_width(int64_t n, int64_t lanes, int64_t limit)
{
    int64_t best = 1;
    for (int64_t d = 2; d <= host_min(n, limit); d++)
        if (n % d == 0 && host_ceil(d, lanes) * best <= host_ceil(best, lanes) * d)
            best = d;
    return best;
}

/* Bytes of the packed weight. */
static int64_t packed(const optune_task *task, const dense_shape *s, int64_t width)
{
    const int64_t lanes = matmul_lanes(task, s->f64);
    return s->n / width * host_ceil(width, lanes) * lanes * s->k * dense_elem(s);
}

static int64_t fallback_width(const optune_task *task, const dense_shape *s)
{
    return pack_width(s->n, matmul_lanes(task, s->f64),
                      (matmul_registers(task) >= 32 ? 3 : 2) * matmul_lanes(task, s->f64));
}

static bool applies(const optune_task *task, char *why)
{
    if (!dense_applies(task, why))
        return false;
    const dense_shape s = dense_shape_of(task->call);
    return matmul_packed_fits(packed(task, &s, fallback_width(task, &s)),
                              s.n * s.k * dense_elem(&s), why);
}

static bool inner_rows(const int64_t *sizes, int parts, const void *arg)
{
    (void)arg;
    return sizes[parts - 1] <= 16;
}

static void space(const optune_task *task, optune_space *space)
{
    const dense_shape s = dense_shape_of(task->call);
    optune_space_split(space, "tile_y", s.m, 3, NULL);
    optune_space_split(space, "tile_x", s.n, 3, NULL);
    optune_space_split(space, "tile_k", s.k, 2, NULL);
    optune_space_split(space, "tile_inner", s.m, 2, &(optune_split){.filter = inner_rows});
}

/* Rows in registers for a block of `yi` rows and `nv` vectors; 0 when none fit. */
static int64_t register_rows(const optune_task *task, int64_t inner, int64_t yi, int64_t nv)
{
    const int64_t most = (matmul_registers(task) - nv - 1) / nv;
    if (inner > 1)
        return host_min(inner, yi) <= most ? host_min(inner, yi) : 0;
    return host_min(yi, most);
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t yi = optune_config_split(config, "tile_y")[2];
    const int64_t xi = optune_config_split(config, "tile_x")[2];
    const int64_t inner = optune_config_split(config, "tile_inner")[1];
    const int64_t lanes = matmul_lanes(task, s.f64), nv = host_ceil(xi, lanes);
    if (register_rows(task, inner, yi, nv) < 1)
        return optune_refuse(
            why, "%" PRId64 " rows of %" PRId64 " vectors do not fit %" PRId64 " registers",
            host_min(inner, yi), nv, matmul_registers(task));
    return matmul_packed_fits(packed(task, &s, xi), s.n * s.k * dense_elem(&s), why);
}

static int64_t largest_divisor(int64_t n, int64_t limit, int64_t multiple_of)
{
    for (int64_t d = host_min(n, limit); d > multiple_of; d--)
        if (n % d == 0 && d % multiple_of == 0)
            return d;
    return multiple_of;
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t lanes = matmul_lanes(task, s.f64), registers = matmul_registers(task);
    const int64_t width = fallback_width(task, &s);
    const int64_t nv = host_ceil(width, lanes);
    int64_t inner = largest_divisor(s.m, host_min(16, (registers - nv - 1) / nv), 1);
    if (inner * nv < 8)
        inner = 1; /* no useful divisor: the plan cuts blocks into ragged groups */
    /* A task is one panel, which meets all rows of its block. */
    const int64_t held = matmul_block_rows(task, s.m, s.k * dense_elem(&s), s.n / width);
    const int64_t rows = largest_divisor(s.m, held, inner);
    optune_config_choose_split(config, space, "tile_y", (int64_t[]){0, 1, rows});
    optune_config_choose_split(config, space, "tile_x", (int64_t[]){0, 1, width});
    optune_config_choose_split(config, space, "tile_k", (int64_t[]){0, s.k});
    optune_config_choose_split(config, space, "tile_inner", (int64_t[]){0, inner});
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const dense_shape s = dense_shape_of(task->call);
    const int64_t *y = optune_config_split(config, "tile_y");
    const int64_t *x = optune_config_split(config, "tile_x");
    const int64_t ki = optune_config_split(config, "tile_k")[1];
    const int64_t inner = optune_config_split(config, "tile_inner")[1];
    const int64_t lanes = matmul_lanes(task, s.f64), nv = host_ceil(x[2], lanes);
    const int module = optune_plan_module(plan);
    dense_define(plan, module, &s);
    optune_plan_define(plan, module, "YO", y[1]);
    optune_plan_define(plan, module, "YI", y[2]);
    optune_plan_define(plan, module, "XO", x[1]);
    optune_plan_define(plan, module, "XI", x[2]);
    optune_plan_define(plan, module, "KC", ki < UNROLL_LIMIT ? s.k : ki);
    optune_plan_define(plan, module, "GEMM_KU", ki < UNROLL_LIMIT ? host_min(ki, 16) : 2);
    optune_plan_define(plan, module, "GEMM_MR", register_rows(task, inner, y[2], nv));
    optune_plan_define(plan, module, "GEMM_NV", nv);

    const int64_t bytes = packed(task, &s, x[2]);
    dense_compute(task, plan, module, "dense", &s, optune_input_arg(DENSE_DATA),
                  dense_pack(plan, module, &s, bytes));
}

/* TVM unrolls the inner steps of the depth and, in each, the rows of a block. A vector that is no
 * power of two is taken apart, which costs the square where no loop over the depth is left. */
static int64_t task_unrolls(const optune_call *call, const optune_config *config)
{
    enum { FLOATS = 8, DEPTH = 64 };
    const int64_t k = optune_config_split(config, "tile_k")[1];
    const int64_t x = optune_config_split(config, "tile_x")[2];
    const int64_t n = optune_config_split(config, "tile_y")[2] * host_ceil(x, FLOATS) * k;
    const bool whole = k == dense_shape_of(call).k && x > FLOATS && (x & (x - 1));
    return whole ? n * host_ceil(k, DEPTH) : n;
}

OPTUNE_IMPL(matmul, dense_pack) = {
    .op = "dense",
    .name = "dense_pack.x86",
    .summary = "TVM's template with the weight packed in panels",
    .task_args = "data weight bias? out_dtype",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .task_unrolls = task_unrolls,
};
